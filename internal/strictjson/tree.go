package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// MaxDepth bounds how deep lists and objects may be nested.
const MaxDepth = 64

// object is a JSON object in the order of its text. The other values of a tree are
// string, json.Number, bool, nil and []any.
type object []member

type member struct {
	name  string
	value any
}

// get finds a member.
func (o object) get(name string) (any, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// bare is a value of a tree as package json would give it.
func bare(value any) any {
	switch v := value.(type) {
	case object:
		out := make(map[string]any, len(v))
		for _, m := range v {
			out[m.name] = bare(m.value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = bare(e)
		}
		return out
	}
	return value
}

// parse makes a tree of text; ok is false if it is not JSON.
func parse(text []byte, f *Faults) (tree any, ok bool) {
	if !utf8.Valid(text) {
		f.Add("", "is not valid UTF-8")
		return nil, false
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &syntax) {
		line, column := place(text, int(syntax.Offset))
		f.Add("", "is not JSON: %v (line %d, column %d)", err, line, column)
		return nil, false
	}
	p := parser{json.NewDecoder(bytes.NewReader(text)), f}
	p.UseNumber()
	tree, err := p.value("", 1)
	return tree, err == nil
}

// place is where the last of the first n bytes stands, counted from 1.
func place(text []byte, n int) (line, column int) {
	before := text[:min(max(n-1, 0), len(text))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// parser reads text that is known to be JSON.
type parser struct {
	*json.Decoder
	faults *Faults
}

var errDeep = errors.New("nested too deep")

func (p parser) value(path string, depth int) (any, error) {
	token, err := p.Token()
	if err != nil {
		return nil, err
	}
	if _, nested := token.(json.Delim); nested && depth > MaxDepth {
		p.faults.Add(path, "is nested deeper than %d", MaxDepth)
		return nil, errDeep
	}
	switch token {
	case json.Delim('{'):
		return p.object(path, depth)
	case json.Delim('['):
		return p.list(path, depth)
	}
	return token, nil
}

func (p parser) object(path string, depth int) (any, error) {
	out, seen := object{}, map[string]bool{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string)
		at := Member(path, name)
		value, err := p.value(at, depth+1)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			p.faults.Add(at, "is there twice")
			continue
		}
		seen[name] = true
		out = append(out, member{name, value})
	}
	_, err := p.Token()
	return out, err
}

func (p parser) list(path string, depth int) (any, error) {
	out := []any{}
	for p.More() {
		value, err := p.value(Element(path, len(out)), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	_, err := p.Token()
	return out, err
}
