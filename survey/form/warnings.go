package form

import (
	"fmt"
	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/internal/strictjson"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// Warnings are what is allowed in a definition and probably not meant.
func (d *Definition) Warnings() []Fault {
	var f strictjson.Faults
	for at, q := range placed(d.Questions) {
		d.neverTrue(strictjson.Member(at, "when"), q.When, &f)
	}
	for i, e := range d.Endings {
		d.neverTrue(strictjson.Member(strictjson.Element("endings", i), "when"), e.When, &f)
	}
	d.neverTrue("unhappy", d.Unhappy, &f)
	enabled := false
	recipes := map[string]string{} // path of a trigger by its kind of event and recipe
	for i, t := range d.Triggers {
		at := strictjson.Element("triggers", i)
		enabled = enabled || t.Enabled
		t.warnings(at, &f)
		for j, r := range t.Subscribers {
			d.neverTrue(strictjson.Member(strictjson.Element(strictjson.Member(at, "subscribers"), j), "filter"), r.Filter, &f)
		}
		if before, shared := recipes[t.identity()]; shared {
			f.Add(at, "has the eventKind and the dedupRecipe of %s: one event produces an instance for each of them", before)
		} else {
			recipes[t.identity()] = at
		}
	}
	for i, l := range d.OpenLinks {
		enabled = enabled || l.Enabled
		for j, r := range l.Subscribers {
			d.neverTrue(strictjson.Member(strictjson.Element(strictjson.Member(strictjson.Element("openLinks", i), "subscribers"), j), "filter"), r.Filter, &f)
		}
	}
	d.withoutLink(&f)
	d.neverSent(&f)
	if len(d.Questions) == 0 {
		f.Add("questions", "has none: the form is kept elsewhere, and a link that leads to a page of this package shows nothing")
	}
	if !enabled {
		f.Add("triggers", "has none that is enabled: no event produces an instance")
	}
	return faultsOf(f)
}

// Warnings are about the rule of thumb for recipes (Triggers & Scheduler, "Authoring
// rule of thumb").
func (t *Trigger) warnings(at string, f *strictjson.Faults) {
	path := strictjson.Member(at, "dedupRecipe")
	for _, p := range []string{"templateId", "recipient.address"} {
		if !slices.Contains(t.DedupRecipe, p) {
			f.Add(path, "lacks %s, which every recipe should have", p)
		}
	}
	if !slices.ContainsFunc(t.DedupRecipe, func(p string) bool { return strings.HasPrefix(p, "candidate.") }) {
		f.Add(path, "has nothing that identifies the event: a recipient is asked once and never again")
	}
	t.twoCases(at, f)
}

// twoCases warns of paths that differ in case only, since ingest takes no event that
// has both: one of them is probably misspelt.
func (t *Trigger) twoCases(at string, f *strictjson.Faults) {
	spelt := map[string]string{}
	look := func(at, path string) {
		folded := strings.ToLower(path)
		if before, known := spelt[folded]; known && before != path {
			f.Add(at, "differs from %s in case only: no event has both", before)
		} else {
			spelt[folded] = path
		}
	}
	for i, p := range t.DedupRecipe {
		look(strictjson.Element(strictjson.Member(at, "dedupRecipe"), i), p)
	}
	if t.Filter == nil {
		return
	}
	for below, c := range t.Filter.Conditions() {
		look(strictjson.Member(strictjson.Below(strictjson.Member(at, "filter"), below), "questionId"), c.QuestionID)
	}
}

// identity is what tells one event from another for a trigger, and of which kind.
func (t *Trigger) identity() string {
	recipe := slices.Sorted(slices.Values(t.DedupRecipe))
	return strings.Join(append(recipe, t.EventKind), "\x1f") // no part holds U+001F
}

// neverTrue warns of conditions on answers that no answer can meet, such as "Yes"
// where the answer is "yes".
func (d *Definition) neverTrue(path string, f *Filter, faults *strictjson.Faults) {
	if f == nil {
		return
	}
	for at, c := range f.Conditions() {
		q := d.Question(c.QuestionID)
		at = strictjson.Below(path, at)
		equality := slices.Contains([]filter.Op{filter.Equal, filter.NotEqual, filter.In, filter.NotIn}, c.Op)
		switch {
		case equality && q.Type.several():
			faults.Add(strictjson.Member(at, "op"), "compares a list of options, which equals nothing; contains looks into it")
		case equality || c.Op == filter.Contains && q.Type.several():
			q.unanswerable(strictjson.Member(at, "value"), c.Value, faults)
		}
	}
}

// unanswerable warns of a value, or one of a list, that is not an answer to the question.
func (q *Question) unanswerable(path string, value any, faults *strictjson.Faults) {
	answers := q.answers()
	if answers == nil {
		return
	}
	if list, ok := value.([]any); ok {
		for i, v := range list {
			q.unanswerable(strictjson.Element(path, i), v, faults)
		}
		return
	}
	is := filter.Filter{QuestionID: q.ID, Op: filter.Equal, Value: value}
	if !slices.ContainsFunc(answers, func(a string) bool { return is.Match(map[string]any{q.ID: a}) }) {
		faults.Add(path, "is not an answer to %s: %.20q are", q.ID, answers[:min(5, len(answers))])
	}
}

// answers are what an answer can be; nil: there is no list of them.
func (q *Question) answers() []string {
	switch q.Type {
	case YesNoQuestion:
		return []string{"yes", "no"}
	case ChoiceQuestion, MultipleQuestion, RankingQuestion:
		out := make([]string, len(q.Options))
		for i, o := range q.Options {
			out[i] = o.Value
		}
		return out
	}
	return nil
}

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

// neverSent warns of messages for reminders that no trigger has.
func (d *Definition) neverSent(f *strictjson.Faults) {
	most := 0
	for _, t := range d.Triggers {
		most = max(most, len(t.Schedule.Reminders))
	}
	for i, m := range d.Messages {
		if m.Ordinal > most && len(d.Triggers) > 0 {
			f.Add(strictjson.Member(strictjson.Element("messages", i), "ordinal"), "is never used: triggers have %d reminders at most", most)
		}
	}
}
