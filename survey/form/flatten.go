package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/keys"
)

// maxDepth bounds how deep the objects and arrays of a payload go.
const maxDepth = 32

// Flatten gives the values of a JSON object by their paths, those of objects inside it with
// dots. At the path of such an object is an [Object]. Numbers stay as they are written. Two names for one path are
// refused, also if they differ in case only: programs before and behind this one
// would choose different ones.
func Flatten(payload json.RawMessage) (values map[string]any, err error) {
	switch {
	case len(payload) > MaxMetadata:
		return nil, fmt.Errorf("%d bytes, more than %d", len(payload), MaxMetadata)
	case !utf8.Valid(payload):
		return nil, errors.New("is not valid UTF-8")
	case !json.Valid(payload):
		return nil, errors.New("is not valid JSON")
	case bytes.TrimLeft(payload, " \t\r\n")[0] != '{':
		return nil, errors.New("is not a JSON object")
	}
	f := newFlattener(json.NewDecoder(bytes.NewReader(payload)))
	f.dec.UseNumber()
	if _, err := f.dec.Token(); err != nil {
		return nil, err
	}
	return f.values, f.object(candidatePath, 1)
}

// Object stands for an object, which a filter finds there and equal to nothing.
type Object struct{}

// flattener reads one payload, which is valid JSON.
type flattener struct {
	dec    *json.Decoder
	values map[string]any
	seen   map[string]bool // paths in lower case
}

func newFlattener(dec *json.Decoder) *flattener {
	return &flattener{dec: dec, values: map[string]any{}, seen: map[string]bool{}}
}

// object reads the rest of an object whose paths begin with prefix.
func (f *flattener) object(prefix string, depth int) error {
	for f.dec.More() {
		name, err := f.dec.Token()
		if err != nil {
			return err
		}
		path := prefix + name.(string)
		if err := f.take(path); err != nil {
			return err
		}
		value, err := f.dec.Token()
		if err != nil {
			return err
		}
		if err := f.value(path, value, depth); err != nil {
			return err
		}
	}
	_, err := f.dec.Token()
	return err
}

// take refuses a path that a recipe or a filter could not name, or that another
// value has.
func (f *flattener) take(path string) error {
	switch folded := strings.ToLower(path); {
	case len(path) > keys.MaxPartLen:
		return fmt.Errorf("a path has %d bytes, more than %d: %.40q…", len(path), keys.MaxPartLen, path)
	case strings.HasSuffix(path, "."):
		return fmt.Errorf("a name is empty or ends with a dot: %q", path)
	case f.seen[folded]:
		return fmt.Errorf("two values at %q", path)
	default:
		f.seen[folded] = true
		return nil
	}
}

func (f *flattener) value(path string, token json.Token, depth int) error {
	switch token {
	case json.Delim('{'):
		if depth == maxDepth {
			return errDepth
		}
		f.values[path] = Object{}
		return f.object(path+".", depth+1)
	case json.Delim('['):
		array, err := f.array(depth + 1)
		f.values[path] = array
		return err
	}
	f.values[path] = token
	return nil
}

var errDepth = fmt.Errorf("more than %d levels", maxDepth)

// array reads the rest of an array. Objects in it have no paths, so no filter can ask
// for what they hold.
func (f *flattener) array(depth int) ([]any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	array := []any{}
	for f.dec.More() {
		token, err := f.dec.Token()
		if err != nil {
			return nil, err
		}
		switch token {
		case json.Delim('['):
			inner, err := f.array(depth + 1)
			if err != nil {
				return nil, err
			}
			array = append(array, inner)
		case json.Delim('{'):
			if err := f.skip(depth + 1); err != nil {
				return nil, err
			}
			array = append(array, Object{})
		default:
			array = append(array, token)
		}
	}
	_, err := f.dec.Token()
	return array, err
}

// skip reads the rest of an object that is in an array.
func (f *flattener) skip(depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	return newFlattener(f.dec).object("", depth)
}

const candidatePath = "candidate."

// MaxMetadata bounds the payload of an event in bytes. With the largest answers it
// fits into one outbox event.
const MaxMetadata = 24 << 10
