package surveyhttp

import "bytes"

// The functions of this file walk over text that json.Valid has passed, and know
// no other. They are here because encoding/json takes members that are given
// twice, and names in any case.

const space = " \t\r\n"

// next splits the JSON value off that text begins with.
func next(text []byte) (value, rest []byte) {
	end := len(text)
	switch text[0] {
	case '"':
		end = stringEnd(text)
	case '{', '[':
		end = groupEnd(text)
	default:
		if i := bytes.IndexAny(text, ",]}"+space); i >= 0 {
			end = i
		}
	}
	return text[:end], bytes.TrimLeft(text[end:], space)
}

// stringEnd is the length of the string that text begins with.
func stringEnd(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// groupEnd is the length of the object or array that text begins with.
func groupEnd(text []byte) int {
	level := 0
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '{', '[':
			level++
		case '}', ']':
			if level--; level == 0 {
				return i + 1
			}
		}
	}
}

// depth is how deep the objects and arrays of text are nested.
func depth(text []byte) (deepest int) {
	level := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

// elements calls each with the values of an array, until it says that it has enough.
func elements(array []byte, each func(value []byte) error) error {
	rest := bytes.TrimLeft(array[1:], space)
	for rest[0] != ']' {
		var value []byte
		value, rest = next(rest)
		if err := each(value); err != nil {
			return err
		}
		rest = pastComma(rest)
	}
	return nil
}

// members calls each with the members of an object, their names as written.
func members(object []byte, each func(name, value []byte) error) error {
	rest := bytes.TrimLeft(object[1:], space)
	for rest[0] != '}' {
		var name, value []byte
		name, rest = next(rest)
		value, rest = next(bytes.TrimLeft(rest[1:], space)) // past the colon
		if err := each(name, value); err != nil {
			return err
		}
		rest = pastComma(rest)
	}
	return nil
}

func pastComma(text []byte) []byte {
	if text[0] == ',' {
		return bytes.TrimLeft(text[1:], space)
	}
	return text
}
