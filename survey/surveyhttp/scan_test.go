package surveyhttp

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What is walked over by hand is what encoding/json sees, of any valid text.
func FuzzScan(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `{"a":1,"b":[true,{"c":"\"}],"}]}`, ` { "a" : { } , "" : [ ] } `, `["\\","\u005d",-1.5e9,null]`, "[[[[1],2],3],{\"x\":{\"y\":[]}}]\n",
		`{"a":"` + "\u2028" + `"}`, `"["`, `7`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		text = bytes.Trim(text, space)
		value, rest := next(text)
		if !bytes.Equal(value, text) || len(rest) > 0 {
			t.Fatalf("%q is cut into %q and %q", text, value, rest)
		}
		if got, want := rebuilt(text), text; !same(got, want) {
			t.Errorf("%q was read as %q", want, got)
		}
		if got := depth(text); got != deepest(text) {
			t.Errorf("%q is %d levels deep", text, got)
		}
	})
}

// rebuilt takes a value apart and puts it together again.
func rebuilt(text []byte) []byte {
	var parts [][]byte
	switch text[0] {
	case '{':
		_ = members(text, func(name, value []byte) error {
			parts = append(parts, bytes.Join([][]byte{name, rebuilt(value)}, []byte(":")))
			return nil
		})
		return bytes.Join([][]byte{[]byte("{"), bytes.Join(parts, []byte(",")), []byte("}")}, nil)
	case '[':
		_ = elements(text, func(value []byte) error {
			parts = append(parts, rebuilt(value))
			return nil
		})
		return bytes.Join([][]byte{[]byte("["), bytes.Join(parts, []byte(",")), []byte("]")}, nil)
	}
	return text
}

func same(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// deepest counts levels by the tokens of encoding/json.
func deepest(text []byte) (most int) {
	d := json.NewDecoder(bytes.NewReader(text))
	level := 0
	for {
		token, err := d.Token()
		if err != nil {
			return most
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			level++
			most = max(most, level)
		case json.Delim('}'), json.Delim(']'):
			level--
		}
	}
}
