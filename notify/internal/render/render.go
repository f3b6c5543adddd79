// Package render executes templates whose authors are not trusted to stop: tenants
// write them, and events have the data. Whatever a template says, it ends after so
// many steps, writes so many bytes, makes strings of bounded size, and ends with its
// context.
package render

import (
	"context"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

const (
	// MaxSource bounds the text of a template, in bytes.
	MaxSource = 256 << 10
	// maxSteps bounds what one execution does: each part of a template that is run is
	// a step.
	maxSteps = 50_000
	// templateSteps are those of a template that another one runs: calls are deep.
	templateSteps = 100
	// maxMade bounds a string that a function makes, and maxMadeAll all of them.
	maxMade    = 16 << 10
	maxMadeAll = 1 << 20
	// maxNested bounds how deep parts of a template, and parentheses, are nested, and
	// maxRanges ranges: the escaper of HTML reads each of them twice.
	maxNested = 50
	maxRanges = 4
)

// ErrLimit is in the chain of every error of a template that asks for too much.
var ErrLimit = errors.New("the template asks for too much")

// Template is one that has been parsed. It may be executed by any number of
// goroutines. A missing name is an error.
type Template struct {
	parse func() (*instance, error)
	idle  sync.Pool // of *instance
}

// instance is a template with the meter that its own functions charge; one goroutine
// uses it at a time.
type instance struct {
	execute func(w io.Writer, data any) error
	meter   *meter
	once    int // the steps of what runs once at most
}

// Text parses a template of text/template.
func Text(name, text string) (*Template, error) {
	return newTemplate(text, func() (*instance, error) {
		m := &meter{}
		t, err := template.New(name).Option("missingkey=error").Funcs(m.funcs()).Parse(text)
		if err != nil {
			return nil, err
		}
		in := &instance{execute: t.Execute, meter: m}
		for _, each := range t.Templates() {
			if err := in.measure(each.Tree, text); err != nil {
				return nil, err
			}
		}
		return in, nil
	})
}

// HTML parses a template of html/template, which escapes what is put in.
func HTML(name, text string) (*Template, error) {
	return newTemplate(text, func() (*instance, error) {
		m := &meter{}
		t, err := htmltemplate.New(name).Option("missingkey=error").Funcs(m.funcs()).Parse(text)
		if err != nil {
			return nil, err
		}
		in := &instance{execute: t.Execute, meter: m}
		for _, each := range t.Templates() {
			if err := in.measure(each.Tree, text); err != nil {
				return nil, err
			}
		}
		return in, nil
	})
}

func newTemplate(text string, parse func() (*instance, error)) (*Template, error) {
	if err := checkSource(text); err != nil {
		return nil, err
	}
	first, err := parse()
	if err != nil {
		return nil, err
	}
	t := &Template{parse: parse}
	t.idle.Put(first)
	return t, nil
}

// checkSource refuses what the parser itself would take too long for, or too deep.
func checkSource(text string) error {
	if len(text) > MaxSource {
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrLimit, len(text), MaxSource)
	}
	deep := 0
	for rest := text; ; {
		_, action, found := strings.Cut(rest, "{{")
		if !found {
			return nil
		}
		action, rest, _ = strings.Cut(action, "}}")
		for _, r := range action {
			switch r {
			case '(':
				if deep++; deep > maxNested {
					return fmt.Errorf("%w: more than %d parentheses in one another", ErrLimit, maxNested)
				}
			case ')':
				deep--
			}
		}
		deep = 0
	}
}

// Execute gives at most limit bytes. An error that wraps [ErrLimit] would come again;
// one of ctx is that of ctx.
func (t *Template) Execute(ctx context.Context, data any, limit int) (string, error) {
	in, ok := t.idle.Get().(*instance)
	if !ok {
		var err error
		if in, err = t.parse(); err != nil {
			return "", err
		}
	}
	in.meter.begin(ctx)
	w := &output{limit: limit}
	err := in.meter.charge(in.once)
	if err == nil {
		err = in.execute(w, data) // which may panic: the instance is lost then
	}
	in.meter.ctx = nil
	t.idle.Put(in)
	return string(w.text), err
}

// output refuses what is beyond its limit.
type output struct {
	text  []byte
	limit int
}

func (o *output) Write(p []byte) (int, error) {
	if len(o.text)+len(p) > o.limit {
		return 0, fmt.Errorf("%w: output exceeds %d bytes", ErrLimit, o.limit)
	}
	o.text = append(o.text, p...)
	return len(p), nil
}

// measure has the lists of a template's parts charge for themselves before they are run,
// and each range look at what it goes through.
func (in *instance) measure(tree *parse.Tree, text string) error {
	if tree == nil || tree.Root == nil {
		return nil
	}
	calls := strings.Contains(text, "template") || strings.Contains(text, "block") // or says so
	once, err := walker{tree, !calls}.list(tree.Root, 0, 0)
	in.once += once
	return err
}
