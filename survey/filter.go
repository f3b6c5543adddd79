package survey

import "github.com/belfry-go/belfry/internal/filter"

// Filter is a condition on the values of an event or of a response,
//
//	{"questionId": "candidate.jobType", "op": "==", "value": "GR"}
//
// or a group of filters: {"all": […]}, {"any": […]}, {"not": {…}} (Triggers &
// Scheduler, "filter"). Its comparisons are
//
//	==  !=            a text, a number, true or false
//	>  >=  <  <=      a text or a number
//	in  notIn         a list of those
//	contains          a text has another inside, or a list has a value
//	startsWith        a text begins with another
//	exists            something is there; with the value false: nothing is
//
// Texts compare byte by byte, so that case counts and dates such as 2026-05-14 are in
// order. Numbers compare as decimals, exactly, and so do a number and a text that is
// one: 10 is 10.0 and "10". Other types are never equal and in no order. At a path
// where there is nothing, or null, only !=, notIn and exists false are true.
//
// A filter has at most 100 conditions and groups, eight inside each other, 1000 values
// in lists, and texts of 1000 characters. There are no patterns.
type Filter = filter.Filter
