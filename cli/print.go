package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// table is rows for people, in columns as wide as what is in them.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print leaves out columns that are empty in all rows.
func (t *table) print(w io.Writer) {
	width := make([]int, len(t.head))
	for _, row := range t.rows {
		for i := range row {
			row[i] = printable(row[i])
			width[i] = max(width[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if width[i] == 0 {
				continue
			}
			fmt.Fprintf(&line, "%-*s  ", max(width[i], len(t.head[i])), cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// printable makes untrusted text safe for a terminal: control characters and direction
// marks are replaced.
func printable(text string) string {
	text = strings.ReplaceAll(text, "\x1f", separator)
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%X}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }

// moment prints a time for people; empty for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// encode writes an answer as one JSON document.
func encode(w io.Writer, v any) error {
	text, err := json.MarshalIndent(wire(reflect.ValueOf(v)), "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// member is one of an object, in the order of the fields.
type member struct {
	name  string
	value any
}

type object []member

// MarshalJSON keeps the order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// wire is a value in the names of the API: exported fields in camel case, and none that
// are zero. Lists are never null.
func wire(v reflect.Value) any {
	switch {
	case !v.IsValid():
		return nil
	case v.Type() == reflect.TypeFor[time.Time]():
		return v.Interface().(time.Time).UTC()
	case v.Type().Implements(marshaler):
		return v.Interface()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return wire(v.Elem())
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = wire(v.Index(i))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for key, value := range v.Seq2() {
			out[fmt.Sprint(key)] = wire(value)
		}
		return out
	case reflect.Struct:
		return members(v)
	}
	return v.Interface()
}

func members(v reflect.Value) (out object) {
	out = object{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !f.IsExported() || v.Field(i).IsZero() && f.Type.Kind() != reflect.Slice:
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			out = append(out, members(v.Field(i))...)
		default:
			out = append(out, member{camel(f.Name), wire(v.Field(i))})
		}
	}
	return out
}

// camel is a Go name in JSON: "MessageID" is "messageId".
func camel(name string) string {
	name = strings.ReplaceAll(name, "ID", "Id")
	runes := []rune(name)
	for i := range runes {
		if i > 0 && (!unicode.IsUpper(runes[i]) || i+1 < len(runes) && !unicode.IsUpper(runes[i+1])) {
			break
		}
		runes[i] = unicode.ToLower(runes[i])
	}
	return string(runes)
}
