package surveyhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// maxDepth bounds how deep the objects and arrays of a body are nested.
const maxDepth = 32

// checkJSON refuses what is not one JSON value in UTF-8 of a bounded depth, and
// gives it without the space around it.
func checkJSON(text []byte) ([]byte, *refusal) {
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
			return fmt.Errorf("%s has a member %.50q, which is not known", where, name)
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
