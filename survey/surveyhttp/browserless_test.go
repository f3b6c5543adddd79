package surveyhttp_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// browserless reads a page of the form as a browser without JavaScript does.
type browserless struct {
	form   url.Values      // what it would send
	shown  map[string]bool // the questions that can be seen
	faulty map[string]bool // those that are said to be wrong
	back   bool            // there is a way back
}

// readPage reads a page.
func readPage(t testing.TB, page string) *browserless {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	b := &browserless{form: url.Values{}, shown: map[string]bool{}, faulty: map[string]bool{}}
	b.walk(root, seen{})
	return b
}

// seen is what is above an element.
type seen struct{ hidden, disabled, faulty bool }

func (b *browserless) walk(n *html.Node, above seen) {
	if n.Type == html.ElementNode {
		_, hidden := attribute(n, "hidden")
		_, disabled := attribute(n, "disabled")
		_, invalid := attribute(n, "aria-invalid")
		above.hidden, above.disabled, above.faulty = above.hidden || hidden, above.disabled || disabled, above.faulty || invalid
		for c := range n.ChildNodes() { // a group of boxes says it beside them
			if class, _ := attribute(c, "class"); class == "fault" {
				above.faulty = true
			}
		}
		b.control(n, above)
	}
	for c := range n.ChildNodes() {
		b.walk(c, above)
	}
}

// control takes a control into the form.
func (b *browserless) control(n *html.Node, above seen) {
	name, named := attribute(n, "name")
	if !named || above.disabled {
		return
	}
	if id, asks := strings.CutPrefix(name, "q."); asks && !above.hidden {
		b.shown[id] = true
		if above.faulty {
			b.faulty[id] = true
		}
	}
	value, _ := attribute(n, "value")
	switch n.Data {
	case "button":
		b.back = b.back || value == "back"
		return
	case "textarea":
		value = strings.ReplaceAll(textOf(n), "\n", "\r\n")
	case "select":
		value = chosenOf(n)
	case "input":
		kind, _ := attribute(n, "type")
		if _, checked := attribute(n, "checked"); (kind == "radio" || kind == "checkbox") && !checked {
			return
		}
	default:
		return
	}
	b.form.Add(name, value)
}

// answer answers a question that is shown.
func (b *browserless) answer(q *modelQuestion, t said) {
	name := "q." + q.id
	switch _, controls := b.form[name]; {
	case len(t.values) > 0:
		b.form[name] = slices.Clone(t.values)
	case controls && q.order:
		b.form[name] = make([]string, len(q.options))
	case controls && (q.kind == "multiple" || q.kind == "yesNo"):
		delete(b.form, name)
	case controls:
		b.form[name] = []string{""}
	}
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func textOf(n *html.Node) (out string) {
	for c := range n.ChildNodes() {
		out += c.Data
	}
	return out
}

// chosenOf is the option of a list that is selected, else the first.
func chosenOf(n *html.Node) (out string) {
	first := true
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode {
			continue
		}
		value, ok := attribute(c, "value")
		if !ok {
			value = textOf(c)
		}
		if _, selected := attribute(c, "selected"); selected || first {
			out, first = value, false
		}
	}
	return out
}
