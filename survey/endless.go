package survey

import (
	"fmt"
	"text/template"
	"text/template/parse"
)

// maxRuns bounds how often the templates of one text run each other.
const maxRuns = 1000

// endless says why a template may not come to an end, or only after very long; nil
// otherwise. Without ranges and recursion it is done after as much as its own text
// says, and there is no list in [LinkData] that a range would be for.
func endless(name, text string) error {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return nil // which is another fault
	}
	c := runCounter{t, map[string]int{}}
	_, err = c.template(name)
	return err
}

// runCounter counts how often templates run each other. An error says where.
type runCounter struct {
	t    *template.Template
	runs map[string]int // of each template that was looked at; underWay: it is now
}

const underWay = -1

// template counts the runs that one run of a template leads to, itself included.
func (c runCounter) template(name string) (n int, err error) {
	t := c.t.Lookup(name)
	if n, known := c.runs[name]; known || t == nil || t.Tree == nil {
		return n, nil
	}
	c.runs[name] = underWay
	if n, err = c.node(t.Tree, t.Root); err == nil {
		c.runs[name] = n + 1
	}
	return n + 1, err
}

func (c runCounter) node(in *parse.Tree, node parse.Node) (int, error) {
	switch node := node.(type) {
	case *parse.ListNode:
		return c.list(in, node)
	case *parse.IfNode:
		return c.branches(in, &node.BranchNode)
	case *parse.WithNode:
		return c.branches(in, &node.BranchNode)
	case *parse.RangeNode:
		return 0, fmt.Errorf("%s: there is no list for a range to go through", place(in, node))
	case *parse.TemplateNode:
		switch n, err := c.template(node.Name); {
		case err != nil:
			return 0, err
		case n == underWay:
			return 0, fmt.Errorf("%s: template %q runs itself", place(in, node), node.Name)
		default:
			return n, nil
		}
	}
	return 0, nil
}

func (c runCounter) branches(in *parse.Tree, b *parse.BranchNode) (int, error) {
	n, err := c.list(in, b.List)
	if err != nil || b.ElseList == nil {
		return n, err
	}
	other, err := c.list(in, b.ElseList)
	return max(n, other), err
}

func (c runCounter) list(in *parse.Tree, l *parse.ListNode) (sum int, err error) {
	for _, node := range l.Nodes {
		n, err := c.node(in, node)
		if err != nil {
			return 0, err
		}
		if sum += n; sum > maxRuns {
			return 0, fmt.Errorf("%s: templates run each other more than %d times", place(in, node), maxRuns)
		}
	}
	return sum, nil
}

// place is such as text:1:7.
func place(in *parse.Tree, node parse.Node) string {
	at, _ := in.ErrorContext(node)
	return at
}
