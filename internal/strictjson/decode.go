// Package strictjson reads JSON that people have written and lists all its faults at
// once, each with its path: unknown, missing and repeated members, values of the wrong
// type, and null. Names of members are exact, and nothing may follow the value.
//
// What a member is called and whether it must be there comes from the json tags of
// the struct that is read into: without omitempty or omitzero it must.
package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Decode reads text into the struct that v points to, and lists what is wrong with
// the text. What is right is read all the same, unless a fault has no path: then
// nothing is.
//
// A struct with json tags is read member by member, also if it has an UnmarshalJSON;
// any other type that has one reads itself. A json.Number wants a number and no text.
func Decode(text []byte, v any) Faults {
	var r reader
	if tree, ok := parse(text, &r.faults); ok {
		r.read(tree, reflect.ValueOf(v).Elem(), "")
	}
	return r.faults
}

type reader struct{ faults Faults }

func (r *reader) read(value any, into reflect.Value, path string) {
	if value == nil {
		r.faults.Add(path, "is null; leave it out instead")
		return
	}
	u, readsItself := into.Addr().Interface().(json.Unmarshaler)
	switch kind := into.Kind(); {
	case kind == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		r.read(value, into.Elem(), path)
	case kind == reflect.Struct && len(Fields(into.Type())) > 0:
		r.object(value, into, path)
	case readsItself:
		r.itself(value, u, path)
	case kind == reflect.Interface:
		into.Set(reflect.ValueOf(bare(value)))
	default:
		r.plain(value, into, path)
	}
}

// itself has a value read by its own type.
func (r *reader) itself(value any, u json.Unmarshaler, path string) {
	text, err := json.Marshal(bare(value))
	if err == nil {
		err = u.UnmarshalJSON(text)
	}
	var listed *Error
	if errors.As(err, &listed) {
		r.faults.AddBelow(path, listed.Faults)
	} else if err != nil {
		r.faults.Add(path, "%v", err)
	}
}

func (r *reader) object(value any, into reflect.Value, path string) {
	o, ok := value.(object)
	if !ok {
		r.mismatch(value, "an object", path)
		return
	}
	fields := Fields(into.Type())
	for _, m := range o {
		at := Member(path, m.name)
		if f, ok := find(fields, m.name); ok {
			r.read(m.value, into.FieldByIndex(f.Index), at)
		} else {
			r.faults.Add(at, "is unknown%s", hint(fields, m.name))
		}
	}
	for _, f := range fields {
		if _, ok := o.get(f.Name); f.Required && !ok {
			r.faults.Add(Member(path, f.Name), "is missing")
		}
	}
}

func (r *reader) list(value any, into reflect.Value, path string) {
	elements, ok := value.([]any)
	if !ok {
		r.mismatch(value, "a list", path)
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(elements), len(elements)))
	for i, e := range elements {
		r.read(e, into.Index(i), Element(path, i))
	}
}

// plain reads a list, a text, a number, true or false.
func (r *reader) plain(value any, into reflect.Value, path string) {
	number, isNumber := value.(json.Number)
	text, isText := value.(string)
	truth, isBool := value.(bool)
	switch kind := into.Kind(); {
	case kind == reflect.Slice:
		r.list(value, into, path)
	case into.Type() == reflect.TypeFor[json.Number]():
		if into.SetString(string(number)); !isNumber {
			r.mismatch(value, "a number", path)
		}
	case kind == reflect.String:
		if into.SetString(text); !isText {
			r.mismatch(value, "a text", path)
		}
	case kind == reflect.Bool:
		if into.SetBool(truth); !isBool {
			r.mismatch(value, "true or false", path)
		}
	case into.CanInt():
		n, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || into.OverflowInt(n) {
			r.mismatch(value, "a whole number", path)
			return
		}
		into.SetInt(n)
	default:
		panic("strictjson: cannot read into " + into.Type().String())
	}
}

func (r *reader) mismatch(value any, want, path string) {
	r.faults.Add(path, "is %s, not %s", kindOf(value), want)
}

func kindOf(value any) string {
	switch v := value.(type) {
	case object:
		return "an object"
	case []any:
		return "a list"
	case json.Number:
		return "the number " + cut(string(v))
	case string:
		return "the text " + strconv.Quote(cut(v))
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// cut is what is shown of a value.
func cut(s string) string {
	const most = 40
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// Field is a member that an object may have.
type Field struct {
	Name     string
	Required bool
	Index    []int // of the struct's field
	Type     reflect.Type
}

// Fields are the members of an object that is read into a struct of type t, in
// their order there.
func Fields(t reflect.Type) []Field {
	var out []Field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && name != "" {
			required := !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
			out = append(out, Field{name, required, f.Index, f.Type})
		}
	}
	return out
}

func find(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// hint names the member that is probably meant.
func hint(fields []Field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return fmt.Sprintf("; it is spelled %s", f.Name)
		}
	}
	return ""
}

// Fault is one problem, and where it is.
type Fault struct {
	// Path is such as "triggers[0].id"; empty: the text as a whole.
	Path, Problem string
}

func (f Fault) String() string {
	if f.Path == "" {
		return f.Problem
	}
	return f.Path + ": " + f.Problem
}

// maxFaults bounds what is listed of one text.
const maxFaults = 100

// Faults collects faults, the first hundred.
type Faults []Fault

// Add adds a fault.
func (f *Faults) Add(path, format string, args ...any) {
	if len(*f) < maxFaults {
		*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
	}
}

// AddBelow adds faults whose paths begin at path.
func (f *Faults) AddBelow(path string, below Faults) {
	for _, b := range below {
		f.Add(Below(path, b.Path), "%s", b.Problem)
	}
}

// Err is nil without faults, else an [*Error].
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{f}
}

// Error lists faults. An UnmarshalJSON that returns one keeps their paths below its
// own.
type Error struct{ Faults Faults }

func (e *Error) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}

// Member is the path of a member of the object at path.
func Member(path, name string) string {
	if !plain(name) {
		return path + fmt.Sprintf("[%.40q]", name)
	}
	return Below(path, name)
}

// Element is the path of an element of the list at path.
func Element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Below is the path that begins at path and goes on with rest.
func Below(path, rest string) string {
	if path == "" || rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}

// plain reports whether a name needs no quotes in a path.
func plain(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$"
	return name != "" && len(name) <= 40 && strings.Trim(name, letters) == ""
}
