package filter

// Filter is a condition on the value at one path, or a group of filters. It is not
// changed by evaluation, which any number of goroutines may do at once.
type Filter struct {
	// QuestionID is the path of the value, such as candidate.jobType.
	QuestionID string `json:"questionId,omitempty"`
	Op         Op     `json:"op,omitempty"`
	// Value is a string, json.Number or bool, or for in and notIn an []any of those.
	Value any `json:"value,omitempty"`

	// All is true if each of its filters is, Any if at least one is, Not if its
	// filter is false. A filter has one of the groups or is a condition.
	All []Filter `json:"all,omitempty"`
	Any []Filter `json:"any,omitempty"`
	Not *Filter  `json:"not,omitempty"`
}

// Op is a comparison.
type Op string

// The comparisons; the package comment says what each of them compares.
const (
	Equal      Op = "=="
	NotEqual   Op = "!="
	More       Op = ">"
	AtLeast    Op = ">="
	Less       Op = "<"
	AtMost     Op = "<="
	In         Op = "in"
	NotIn      Op = "notIn"
	Contains   Op = "contains"
	StartsWith Op = "startsWith"
	Exists     Op = "exists"
)

// ops are all comparisons, in the order in which a fault lists them.
var ops = []Op{Equal, NotEqual, More, AtLeast, Less, AtMost, In, NotIn, Contains, StartsWith, Exists}
