package survey

import (
	"slices"

	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/internal/strictjson"
)

// neverTrue warns of conditions on answers that no answer can meet, such as "Yes"
// where the answer is "yes".
func (d *Definition) neverTrue(path string, f *Filter, faults *strictjson.Faults) {
	if f == nil {
		return
	}
	for at, c := range f.Conditions() {
		q := d.question(c.QuestionID)
		at = strictjson.Below(path, at)
		equality := slices.Contains([]filter.Op{filter.Equal, filter.NotEqual, filter.In, filter.NotIn}, c.Op)
		switch {
		case equality && q.Type == MultipleQuestion:
			faults.Add(strictjson.Member(at, "op"), "compares a list of options, which equals nothing; contains looks into it")
		case equality || c.Op == filter.Contains && q.Type == MultipleQuestion:
			q.unanswerable(strictjson.Member(at, "value"), c.Value, faults)
		}
	}
}

// unanswerable warns of a value, or one of a list, that is no answer to the question.
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
		faults.Add(path, "is no answer to %s: %.20q are", q.ID, answers[:min(5, len(answers))])
	}
}

// answers are what an answer can be; nil: there is no list of them.
func (q *Question) answers() []string {
	switch q.Type {
	case YesNoQuestion:
		return []string{"yes", "no"}
	case ChoiceQuestion, MultipleQuestion:
		out := make([]string, len(q.Options))
		for i, o := range q.Options {
			out[i] = o.Value
		}
		return out
	}
	return nil
}
