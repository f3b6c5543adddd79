package filter

import (
	"iter"

	"github.com/belfry-go/belfry/internal/strictjson"
)

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
