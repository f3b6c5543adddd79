package filter

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/keys"
)

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

// UnmarshalJSON reads a filter. The error lists everything that is wrong, each with
// its path: members that are unknown or there twice, and what Validate refuses.
func (f *Filter) UnmarshalJSON(text []byte) error {
	var read Filter
	faults := strictjson.Decode(text, &read)
	if len(faults) == 0 {
		faults = read.Validate()
	}
	if err := faults.Err(); err != nil {
		return err
	}
	*f = read
	return nil
}

// Conditions gives the conditions of a filter that Validate accepts, in the order
// of its text, each with its path.
func (f *Filter) Conditions() iter.Seq2[string, *Filter] {
	return func(yield func(string, *Filter) bool) { f.each("", yield) }
}

func (f *Filter) each(path string, yield func(string, *Filter) bool) bool {
	switch {
	case f.All != nil:
		return eachOf(f.All, strictjson.Member(path, "all"), yield)
	case f.Any != nil:
		return eachOf(f.Any, strictjson.Member(path, "any"), yield)
	case f.Not != nil:
		return f.Not.each(strictjson.Member(path, "not"), yield)
	}
	return yield(path, f)
}

func eachOf(group []Filter, path string, yield func(string, *Filter) bool) bool {
	for i := range group {
		if !group[i].each(strictjson.Element(path, i), yield) {
			return false
		}
	}
	return true
}

// Bounds of one filter.
const (
	MaxDepth  = 8    // groups inside each other, the condition counted
	MaxNodes  = 100  // conditions and groups
	MaxListed = 1000 // values of all lists together
	MaxText   = 1000 // characters of one text
	MaxPath   = 200  // characters of a questionId
)

// Validate lists what is wrong with a filter, each with its path below it.
func (f *Filter) Validate() strictjson.Faults {
	var c checker
	c.filter(f, "", 1)
	return c.faults
}

type checker struct {
	faults        strictjson.Faults
	nodes, listed int
}

func (c *checker) filter(f *Filter, path string, depth int) {
	c.nodes++
	switch {
	case depth > MaxDepth:
		c.faults.Add(path, "is nested deeper than %d", MaxDepth)
		return
	case c.nodes > MaxNodes:
		if c.nodes == MaxNodes+1 {
			c.faults.Add(path, "is too many: a filter has at most %d conditions and groups", MaxNodes)
		}
		return
	}
	switch kinds := f.kinds(); {
	case len(kinds) == 0:
		c.faults.Add(path, "is neither a condition (questionId, op, value) nor a group (all, any, not)")
	case len(kinds) > 1:
		c.faults.Add(path, "is %s at once; put one inside the other", strings.Join(kinds, " and "))
	case f.Not != nil:
		c.filter(f.Not, strictjson.Member(path, "not"), depth+1)
	case f.All != nil:
		c.group(f.All, strictjson.Member(path, "all"), depth)
	case f.Any != nil:
		c.group(f.Any, strictjson.Member(path, "any"), depth)
	default:
		c.condition(f, path)
	}
}

// kinds names what f is; it should be one thing.
func (f *Filter) kinds() (out []string) {
	if f.QuestionID != "" || f.Op != "" || f.Value != nil {
		out = append(out, "a condition")
	}
	if f.All != nil {
		out = append(out, "all")
	}
	if f.Any != nil {
		out = append(out, "any")
	}
	if f.Not != nil {
		out = append(out, "not")
	}
	return out
}

func (c *checker) group(filters []Filter, path string, depth int) {
	if len(filters) == 0 {
		c.faults.Add(path, "is empty")
	}
	for i := range filters {
		if c.nodes > MaxNodes {
			return
		}
		c.filter(&filters[i], strictjson.Element(path, i), depth+1)
	}
}

func (c *checker) condition(f *Filter, path string) {
	c.text(f.QuestionID, strictjson.Member(path, "questionId"), MaxPath, false)
	at := strictjson.Member(path, "value")
	switch f.Op {
	case Equal, NotEqual:
		c.scalar(f.Value, at, true)
	case More, AtLeast, Less, AtMost:
		if _, boolean := f.Value.(bool); boolean {
			c.faults.Add(at, "is true or false, which %s cannot compare", f.Op)
			return
		}
		c.scalar(f.Value, at, true)
	case In, NotIn:
		c.list(f.Value, at)
	case Contains:
		c.scalar(f.Value, at, false)
	case StartsWith:
		if text, ok := f.Value.(string); ok {
			c.text(text, at, MaxText, false)
		} else {
			c.faults.Add(at, "is not a text")
		}
	case Exists:
		if _, ok := f.Value.(bool); !ok && f.Value != nil {
			c.faults.Add(at, "is neither true nor false")
		}
	default:
		c.faults.Add(strictjson.Member(path, "op"), "%.40q is not one of %v", f.Op, ops)
	}
}

// scalar checks a value that is not a list.
func (c *checker) scalar(value any, path string, empty bool) {
	switch v := value.(type) {
	case nil:
		c.faults.Add(path, "is missing")
	case bool:
	case string:
		c.text(v, path, MaxText, empty)
	case json.Number:
		var refused *keys.PartError
		if _, err := keys.Decimal(string(v)); errors.As(err, &refused) {
			c.faults.Add(path, "%s", refused.Problem)
		}
	default:
		c.faults.Add(path, "is neither a text nor a number nor true or false")
	}
}

func (c *checker) list(value any, path string) {
	elements, ok := value.([]any)
	if !ok || len(elements) == 0 {
		c.faults.Add(path, "is not a list of at least one value")
		return
	}
	if c.listed += len(elements); c.listed > MaxListed {
		c.faults.Add(path, "is too long: the lists of a filter have at most %d values together", MaxListed)
		return
	}
	for i, e := range elements {
		c.scalar(e, strictjson.Element(path, i), true)
	}
}

func (c *checker) text(text, path string, limit int, empty bool) {
	switch n := utf8.RuneCountInString(text); {
	case n == 0 && !empty:
		c.faults.Add(path, "is empty")
	case n > limit:
		c.faults.Add(path, "has %d characters, more than %d", n, limit)
	case !utf8.ValidString(text):
		c.faults.Add(path, "is not valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		c.faults.Add(path, "holds a control character")
	}
}
