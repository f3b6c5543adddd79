package render

import (
	"fmt"
	"slices"
	"text/template/parse"
)

// walker changes a parsed template: what it puts in writes nothing.
type walker struct {
	tree *parse.Tree
	once bool // no template runs another, so that what is in no range runs once at most
}

// list has a list begin with {{if step n}}{{end}}, where n is what a run of it costs
// beside the lists in it. What runs once at most is counted instead, in the result.
func (w walker) list(l *parse.ListNode, deep, ranges int) (once int, err error) {
	if l == nil {
		return 0, nil
	}
	if deep > maxNested || ranges > maxRanges {
		return 0, fmt.Errorf("%w: parts are nested too deep", ErrLimit)
	}
	steps := 1 + len(l.Nodes)
	for _, n := range l.Nodes {
		inner := 0
		switch n := n.(type) {
		case *parse.ActionNode:
			steps += weight(n.Pipe)
		case *parse.IfNode:
			steps += weight(n.Pipe)
			inner, err = w.branches(&n.BranchNode, deep, ranges)
		case *parse.WithNode:
			steps += weight(n.Pipe)
			inner, err = w.branches(&n.BranchNode, deep, ranges)
		case *parse.RangeNode:
			steps += weight(n.Pipe)
			n.Pipe.Cmds = append(n.Pipe.Cmds, w.call(n.Pos, rangedName))
			inner, err = w.branches(&n.BranchNode, deep, ranges+1)
		case *parse.TemplateNode:
			steps += templateSteps + weight(n.Pipe)
		}
		if err != nil {
			return 0, err
		}
		once += inner
	}
	if w.once && ranges == 0 {
		return once + steps, nil
	}
	l.Nodes = slices.Insert(l.Nodes, 0, w.step(l.Pos, steps))
	return once, nil
}

// weight counts the values that a pipeline looks at.
func weight(pipe *parse.PipeNode) (n int) {
	if pipe == nil {
		return 0
	}
	for _, c := range pipe.Cmds {
		for _, arg := range c.Args {
			n++
			if chain, ok := arg.(*parse.ChainNode); ok {
				arg = chain.Node
			}
			if inner, ok := arg.(*parse.PipeNode); ok {
				n += weight(inner)
			}
		}
	}
	return n
}

func (w walker) branches(b *parse.BranchNode, deep, ranges int) (once int, err error) {
	once, err = w.list(b.List, deep+1, ranges)
	if err != nil {
		return 0, err
	}
	other, err := w.list(b.ElseList, deep+1, ranges)
	return once + other, err
}

func (w walker) step(at parse.Pos, steps int) parse.Node {
	number := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: at, IsInt: true, Int64: int64(steps), Text: fmt.Sprint(steps)}
	return &parse.IfNode{BranchNode: parse.BranchNode{
		NodeType: parse.NodeIf, Pos: at,
		Pipe: &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{w.call(at, stepName, number)}},
		List: &parse.ListNode{NodeType: parse.NodeList, Pos: at},
	}}
}

func (w walker) call(at parse.Pos, name string, args ...parse.Node) *parse.CommandNode {
	f := parse.NewIdentifier(name).SetPos(at).SetTree(w.tree)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: append([]parse.Node{f}, args...)}
}
