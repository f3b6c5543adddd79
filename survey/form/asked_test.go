package form_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey/form"
)

// What is asked follows from the answers before it, and from no answer that is wrong
// or that nobody was asked for.
func TestWhatIsAskedFollowsFromTheAnswersBefore(t *testing.T) {
	t.Parallel()
	var d form.Definition
	if err := json.Unmarshal([]byte(`{"questions": [
		{"id": "late", "type": "text", "when": {"questionId": "rate", "op": "exists"}},
		{"id": "rate", "type": "rating"},
		{"id": "why", "type": "choice", "options": [{"value": "slow"}, {"value": "dear"}], "when": {"questionId": "rate", "op": "<", "value": 3}},
		{"id": "how-slow", "type": "number", "when": {"questionId": "why", "op": "==", "value": "slow"}}
	], "triggers": []}`), &d); err != nil {
		t.Fatal(err)
	}
	for answers, want := range map[string][]string{
		``:                                    {"rate"},
		`{}`:                                  {"rate"},
		`{"rate": 5}`:                         {"rate"},
		`{"rate": "2"}`:                       {"rate", "why"},
		`{"rate": 2.5, "why": "slow"}`:        {"rate"},
		`{"rate": 2, "why": "slow"}`:          {"rate", "why", "how-slow"},
		`{"rate": 2, "why": "far"}`:           {"rate", "why"},
		`{"rate": 4, "why": "slow"}`:          {"rate"},
		`{"rate": 9, "late": "x"}`:            {"rate"},
		`[1]`:                                 {"rate"},
		`{"rate": 1, "why": "dear", "x": {}}`: {"rate", "why"},
	} {
		if diff := cmp.Diff(want, d.Asked(json.RawMessage(answers))); diff != "" {
			t.Errorf("%s: %s", answers, diff)
		}
	}
}

// A page of a host's own asks for more where an answer calls for it.
func ExampleDefinition_Asked() {
	var d form.Definition
	if err := json.Unmarshal([]byte(`{"questions": [
		{"id": "has-a-complaint", "type": "yesNo"},
		{"id": "complaint", "type": "longText", "when": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}}
	], "triggers": []}`), &d); err != nil {
		panic(err)
	}
	fmt.Println(d.Asked(nil))
	fmt.Println(d.Asked(json.RawMessage(`{"has-a-complaint": "yes"}`)))
	// Output:
	// [has-a-complaint]
	// [has-a-complaint complaint]
}
