// Package filter evaluates conditions over values by path: the filters of
// triggers, the routing of responses and the visibility of questions share it
// (Triggers & Scheduler, "filter").
package filter

// Filter is a condition on the value at one path, or a group of conditions.
type Filter struct {
	// QuestionID is the path of the value, such as candidate.jobType.
	QuestionID string `json:"questionId,omitempty"`
	Op         Op     `json:"op,omitempty"`
	Value      any    `json:"value,omitempty"`

	All []Filter `json:"all,omitempty"`
	Any []Filter `json:"any,omitempty"`
	Not *Filter  `json:"not,omitempty"`
}

// Op is a comparison.
type Op string

// The comparisons.
const (
	Equal Op = "=="
)

// Match reports whether values satisfy f; a nil filter is satisfied by all.
func (f *Filter) Match(values map[string]any) bool {
	return f == nil || values[f.QuestionID] == f.Value
}
