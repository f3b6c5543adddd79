package filter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/internal/strictjson"
)

const yes = `{"questionId": "a", "op": "==", "value": 1}`

// nested is a condition inside n groups.
func nested(n int) string { return strings.Repeat(`{"not": `, n) + yes + strings.Repeat("}", n) }

// many is a group of n conditions.
func many(n int) string { return `{"any": [` + strings.Repeat(yes+", ", n-1) + yes + `]}` }

// listing is a condition with n values.
func listing(n int) string {
	return `{"questionId": "a", "op": "in", "value": [` + strings.Repeat("1, ", n-1) + `1]}`
}

func condition(op, value string) string {
	return fmt.Sprintf(`{"questionId": "a", "op": %q, "value": %s}`, op, value)
}

func TestWhatIsWrongIsListedWithItsPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{}`:                                                {"is neither a condition (questionId, op, value) nor a group (all, any, not)"},
		`[]`:                                                {"is a list, not an object"},
		`{"questionId": "a"}`:                               {`op: "" is not one of [== != > >= < <= in notIn contains startsWith exists]`},
		`{"op": "==", "value": 1}`:                          {"questionId: is empty"},
		`{"questionId": "a", "op": "=="}`:                   {"value: is missing"},
		`{"questionId": "a", "operator": ""}`:               {"operator: is unknown"},
		`{"questionId": "a", "Op": "=="}`:                   {"Op: is unknown; it is spelled op"},
		condition("=", "1"):                                 {`op: "=" is not one of [== != > >= < <= in notIn contains startsWith exists]`},
		condition("matches", `"(a+)+"`):                     {`op: "matches" is not one of [== != > >= < <= in notIn contains startsWith exists]`},
		condition("==", "null"):                             {"value: is null; leave it out instead"},
		condition("==", "[1]"):                              {"value: is neither a text nor a number nor true or false"},
		condition("==", `{"a": 1}`):                         {"value: is neither a text nor a number nor true or false"},
		condition(">", "true"):                              {"value: is true or false, which > cannot compare"},
		condition("in", "1"):                                {"value: is not a list of at least one value"},
		condition("notIn", "[]"):                            {"value: is not a list of at least one value"},
		condition("in", `[1, null, [2], {}]`):               {"value[1]: is missing", "value[2]: is neither a text nor a number nor true or false", "value[3]: is neither a text nor a number nor true or false"},
		condition("contains", `""`):                         {"value: is empty"},
		condition("startsWith", `""`):                       {"value: is empty"},
		condition("startsWith", "1"):                        {"value: is not a text"},
		condition("exists", `"yes"`):                        {"value: is neither true nor false"},
		condition("==", "1e999999999"):                      {"value: has an exponent that is not a number from -100 to 100"},
		condition("==", `"a\u001fb"`):                       {"value: holds a control character"},
		`{"questionId": "a\u0000", "op": "exists"}`:         {"questionId: holds a control character"},
		`{"all": []}`:                                       {"all: is empty"},
		`{"any": [{"not": {}}, {"all": [` + yes + `, 5]}]}`: {"any[1].all[1]: is the number 5, not an object"},
		`{"any": [{"not": {}}, {"all": [` + yes + `, {"op": "exists"}]}]}`: {"any[0].not: is neither a condition (questionId, op, value) nor a group (all, any, not)", "any[1].all[1].questionId: is empty"},
		`{"questionId": "a", "op": "exists", "all": [` + yes + `]}`:        {"is a condition and all at once; put one inside the other"},
		`{"questionId": "a", "any": [` + yes + `], "not": ` + yes + `}`:    {"is a condition and any and not at once; put one inside the other"},
		`{"not": ` + yes + `, "not": ` + yes + `}`:                         {"not: is there twice"},
	} {
		wantFaults(t, text, want)
	}
}

func wantFaults(t *testing.T, text string, want []string) {
	t.Helper()
	f := filter.Filter{QuestionID: "before"}
	err := json.Unmarshal([]byte(text), &f)
	var listed *strictjson.Error
	if !errors.As(err, &listed) {
		t.Errorf("%.200s: %v", text, err)
		return
	}
	var got []string
	for _, fault := range listed.Faults {
		got = append(got, fault.String())
	}
	if diff := cmp.Diff(want, got); diff != "" || f.QuestionID != "before" {
		t.Errorf("%.200s (-want +got):\n%s", text, diff)
	}
}

// Each bound holds, and what is one beyond it is refused.
func TestSizeIsBounded(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	path := func(n int) string { return `{"op": "exists", "questionId": "` + strings.Repeat("é", n) + `"}` }
	for name, c := range map[string]struct {
		make  func(int) string
		most  int
		fault string
	}{
		"depth":     {nested, filter.MaxDepth - 1, strings.Repeat("not.", filter.MaxDepth-1) + "not: is nested deeper than 8"},
		"nodes":     {many, filter.MaxNodes - 1, "any[99]: is too many: a filter has at most 100 conditions and groups"},
		"list":      {listing, filter.MaxListed, "value: is too long: the lists of a filter have at most 1000 values together"},
		"text":      {func(n int) string { return condition("==", text(n)) }, filter.MaxText, "value: has 1001 characters, more than 1000"},
		"list text": {func(n int) string { return condition("in", "["+text(n)+"]") }, filter.MaxText, "value[0]: has 1001 characters, more than 1000"},
		"path":      {path, filter.MaxPath, "questionId: has 201 characters, more than 200"},
	} {
		if err := json.Unmarshal([]byte(c.make(c.most)), &filter.Filter{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantFaults(t, c.make(c.most+1), []string{c.fault})
	}
	wantFaults(t, `{"all": [`+listing(600)+`, `+listing(401)+`]}`, []string{"all[1].value: is too long: the lists of a filter have at most 1000 values together"})
}

// A filter that a program makes is checked as one that is read.
func TestAFilterOfTypesThatNobodyComparesIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []any{5, 1.5, []string{"a"}, "\xff"} {
		f := filter.Filter{QuestionID: "a", Op: filter.Equal, Value: value}
		if faults := f.Validate(); len(faults) != 1 || faults[0].Path != "value" {
			t.Errorf("%T: %v", value, faults)
		}
	}
	endless := &filter.Filter{}
	endless.Not = endless
	if faults := endless.Validate(); len(faults) != 1 {
		t.Error(faults)
	}
}

func TestAFilterIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	const text = `{"all":[{"questionId":"a","op":"==","value":false},{"any":[{"questionId":"b","op":"in","value":["",1.50]}]},{"not":{"questionId":"c","op":"exists"}}]}`
	got, err := json.Marshal(parse(t, text))
	if err != nil || string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
}

func TestConditionsHaveTheirPaths(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"all": [`+yes+`, {"any": [{"questionId": "b", "op": "exists"}]}, {"not": {"questionId": "c", "op": "exists"}}]}`)
	var got []string
	for at, c := range f.Conditions() {
		got = append(got, at+" "+c.QuestionID)
	}
	if diff := cmp.Diff([]string{"all[0] a", "all[1].any[0] b", "all[2].not c"}, got); diff != "" {
		t.Error(diff)
	}
	for at := range f.Conditions() {
		if at != "all[0]" {
			t.Error("went on after the end:", at)
		}
		break
	}
}
