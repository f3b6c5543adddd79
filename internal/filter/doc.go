// Package filter evaluates conditions over values by path: the filters of
// triggers, the routing of responses and the visibility of questions share it
// (Triggers & Scheduler, "filter").
//
// # Conditions
//
// A filter is a condition on the value at one path,
//
//	{"questionId": "candidate.jobType", "op": "==", "value": "GR"}
//
// or a group of filters: {"all": […]}, {"any": […]}, {"not": {…}}. Groups nest.
//
// # What is compared with what
//
// Values are texts, numbers, true and false, and lists of those, as a decoder with
// UseNumber gives them. A path that is not there and a null are the same: missing.
//
//	op                the filter's value      is true if the value at the path
//	==                text, number, boolean   equals it
//	!=                text, number, boolean   does not; also if it is missing
//	< <= > >=         text, number            comes before or after it
//	in                list of those           is a text, number or boolean that equals one
//	notIn             list of those           does not; also if it is missing
//	contains          text                    is a text that has it inside, or a list that has it
//	contains          number, boolean         is a list that has it
//	startsWith        text                    is a text that begins with it
//	exists            none, or true           is there
//	exists            false                   is missing
//
// Two values are equal, or in order:
//
//	text and text         byte by byte: case counts, "10" comes before "9" and is not
//	                      "10.0"; dates such as 2026-05-14 are in order
//	number and number     as decimals, exactly: 10 is 10.0 and 1e1; 0.1 and
//	                      0.10000000000000000001 are two
//	number and text       as numbers, if the text is one without spaces around it:
//	                      10 is "10" and "10.0"; else neither equal nor in order
//	boolean and boolean   equal if they are the same; never in order
//	anything else         neither equal nor in order: true is not "true" and not 1, a
//	                      list equals nothing
//
// Numbers are read by [keys.Decimal]: what is beyond its limits, such as
// 1e999999999, is equal to nothing and in no order, and is never expanded.
//
// # Bounds
//
// [Filter.Validate], and with it reading from JSON, refuses filters beyond [MaxDepth],
// [MaxNodes], [MaxListed] and [MaxText]. Evaluation counts its comparisons, so that
// no filter and no values make it long: one that is not decided within 50,000 is
// false as a whole. There are no patterns.
package filter
