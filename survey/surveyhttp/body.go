package surveyhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/survey/form"
)

// refusal is a request that cannot be taken as it is.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

var (
	errCompressed  = &refusal{http.StatusUnsupportedMediaType, "the body is compressed: send it as it is"}
	errMedia       = &refusal{http.StatusUnsupportedMediaType, "the body is of another media type than is expected here"}
	errTooLarge    = &refusal{http.StatusRequestEntityTooLarge, "the body is too large"}
	errInterrupted = &refusal{http.StatusBadRequest, "the body did not come through"}
)

// unreadable is a body that is not what is expected.
func unreadable(text string) *refusal { return &refusal{http.StatusBadRequest, text} }

// media is the media type of a request.
func media(r *http.Request) string {
	m, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return m
}

// readBody reads a body of at most limit bytes that is not compressed.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *refusal) {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			return nil, errCompressed
		}
	}
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, errInterrupted
	}
	return body, nil
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone
}

func fail(w http.ResponseWriter, status int, text string) {
	problem{Title: text, Status: status}.write(w)
}

// refuse answers a request that cannot be taken.
func refuse(w http.ResponseWriter, why *refusal) { fail(w, why.status, why.text) }

// problem is an answer as in RFC 9457, whose type is its status.
type problem struct {
	Title  string             `json:"title"`
	Status int                `json:"status"`
	Errors []form.AnswerFault `json:"errors,omitempty"`
}

func (p problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that is gone
}

// wantsJSON says whether whoever calls is a program.
func wantsJSON(r *http.Request) bool { return media(r) == "application/json" }

// answer answers without a form, a program as well as a customer.
func (f *forms) answer(w http.ResponseWriter, r *http.Request, status int, state State) {
	if !wantsJSON(r) {
		f.show(w, r, status, f.blank(r, state))
		return
	}
	title := "there is no survey here"
	if state == StateBusy {
		title = "try again later"
	}
	problem{Status: status, Title: title}.write(w)
}

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
