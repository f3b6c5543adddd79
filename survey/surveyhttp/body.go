package surveyhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/survey/form"
)

var errMedia = &httpapi.Problem{Status: http.StatusUnsupportedMediaType, Title: "the body is of another media type than is expected here"}

// unreadable is a body that is not what is expected.
func unreadable(text string) *httpapi.Problem {
	return &httpapi.Problem{Status: http.StatusBadRequest, Title: text}
}

// wrongAnswers is a refusal that lists what is wrong with the answers.
type wrongAnswers struct {
	httpapi.Problem
	Errors []form.AnswerFault `json:"errors,omitempty"`
}

// wantsJSON says whether the caller is a program.
func wantsJSON(r *http.Request) bool { return httpapi.Media(r) == "application/json" }

// answer answers without a form, a program as well as a customer.
func (f *forms) answer(w http.ResponseWriter, r *http.Request, status int, state State) {
	if !wantsJSON(r) {
		p := f.blank(r, state)
		if state == StateBusy {
			p.Kept = kept(w, r)
		}
		f.show(w, r, status, p)
		return
	}
	title := "there is no survey here"
	if state == StateBusy {
		title = "try again later"
	}
	httpapi.Fail(w, status, title)
}

// maxDepth bounds how deep the objects and arrays of a body are nested.
const maxDepth = 32

// checkJSON refuses what is not one JSON value in UTF-8 of a bounded depth, and
// gives it without the space around it.
func checkJSON(text []byte) ([]byte, *httpapi.Problem) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, unreadable("the body is not JSON")
	}
	if depth(text) > maxDepth {
		return nil, unreadable(fmt.Sprintf("the body is nested deeper than %d levels", maxDepth))
	}
	return bytes.Trim(text, space), nil
}

// object reads an object whose members are known, each given once at most. A
// member that is null counts as not given. The errors begin with where.
func object(text []byte, where string, known ...string) (map[string][]byte, error) {
	return readObject(text, where, known, func(name string) error {
		return fmt.Errorf("%s has a member %.50q, which is not known", where, name)
	})
}

// readObject asks about members that are not known, and else passes them over.
func readObject(text []byte, where string, known []string, unknown func(name string) error) (map[string][]byte, error) {
	if text[0] != '{' {
		return nil, fmt.Errorf("%s is not an object", where)
	}
	out := make(map[string][]byte, len(known))
	seen := make(map[string]bool, len(known))
	return out, members(text, func(quoted, value []byte) error {
		name, err := unquote(quoted, where)
		if err != nil {
			return err
		}
		if !slices.Contains(known, name) {
			return unknown(name)
		}
		if seen[name] {
			return fmt.Errorf("%s has the member %q twice", where, name)
		}
		seen[name] = true
		if string(value) != "null" {
			out[name] = value
		}
		return nil
	})
}

// unquote reads a string; a value that is not given is the empty one.
func unquote(value []byte, where string) (string, error) {
	if value == nil {
		return "", nil
	}
	if value[0] != '"' {
		return "", fmt.Errorf("%s is not a text", where)
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	var out string
	err := json.Unmarshal(value, &out)
	return out, err
}

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
