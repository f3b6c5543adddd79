package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
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
