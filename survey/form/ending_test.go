package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey/form"
)

// asked is a definition with questions and whatever more is given.
func asked(questions string, more ...string) string {
	return fmt.Sprintf(`{"questions": [%s]%s}`, questions, strings.Join(append([]string{""}, more...), ", "))
}

// placesOf are the places of what is wrong with a definition.
func placesOf(t *testing.T, definition string) string {
	t.Helper()
	_, err := form.Validate(json.RawMessage(definition))
	var wrong *form.DefinitionError
	if err == nil || !errors.As(err, &wrong) {
		return ""
	}
	var paths []string
	for _, f := range wrong.Faults {
		paths = append(paths, f.Path)
	}
	return strings.Join(paths, " ")
}

func TestWhatAFormMaySay(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]string{
		asked(`{"id": "a", "type": "nps", "low": "no", "high": {"en": "yes", "de": "ja"}}`):                      "",
		asked(`{"id": "a", "type": "nps", "min": 1}`):                                                            "questions[0].min",
		asked(`{"id": "a", "type": "text", "low": "no"}`):                                                        "questions[0].low",
		asked(`{"id": "a", "type": "multiple", "options": [{"value": "x"}, {"value": "y", "exclusive": true}]}`): "",
		asked(`{"id": "a", "type": "choice", "options": [{"value": "x", "exclusive": true}]}`):                   "questions[0].options[0].exclusive",
		asked(`{"id": "a", "type": "choice", "options": [{"value": "x"}, {"value": "y", "other": true}]}, {"id": "b", "type": "text", "when": {"questionId": "a.other", "op": "exists"}}`): "",
		asked(`{"id": "a", "type": "choice", "options": [{"value": "x", "other": true}, {"value": "y", "other": true}]}, {"id": "b", "type": "text", "min": 1}`):                           "questions[0].options[1].other questions[1].min",
		asked(`{"id": "a", "type": "text", "other": true}`):                                                                                                  "questions[0].other",
		asked(`{"id": "a", "type": "text", "prefill": "candidate.name"}`):                                                                                    "",
		asked(`{"id": "a", "type": "text", "prefill": "recipient.address"}`):                                                                                 "questions[0].prefill",
		asked(`{"id": "a", "type": "multiple", "options": [{"value": "x"}], "prefill": "candidate.name"}`):                                                   "questions[0].prefill",
		asked(`{"id": "a", "type": "text", "label": "In {{.Value \"city\"}}?"}`, `"title": "Your visit to {{.Value \"city\"}}"`):                             "",
		asked(`{"id": "a", "type": "text", "label": "{{.Nothing}}"}`, `"title": {"en": "{{.Value"}`):                                                         "title.en questions[0].label",
		asked(`{"id": "a", "type": "yesNo"}`, `"endings": [{"text": "Thanks", "link": "https://host.example/x", "label": "On"}]`):                            "",
		asked(`{"id": "a", "type": "yesNo"}`, `"endings": [{"when": {"questionId": "b", "op": "exists"}, "text": "Thanks", "link": "javascript:alert(1)"}]`): "endings[0].when.questionId endings[0].link",
	} {
		if got := placesOf(t, definition); got != want {
			t.Errorf("%s: %q, want %q", definition, got, want)
		}
	}
}

// An answer of an nps is a whole number from 0 to 10, and what stands alone stands alone.
func TestWhatAnNPSAndAnExclusiveOptionTake(t *testing.T) {
	t.Parallel()
	d, faults := form.Parse(json.RawMessage(asked(`{"id": "a", "type": "nps"},
		{"id": "b", "type": "multiple", "options": [{"value": "x"}, {"value": "y"}, {"value": "none", "exclusive": true}]}`)))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for answers, want := range map[string]form.FaultCode{
		`{"a": 0}`: "", `{"a": "10"}`: "", `{"a": 11}`: form.FaultMax, `{"a": -1}`: form.FaultMin, `{"a": 1.5}`: form.FaultType,
		`{"b": ["x", "y"]}`: "", `{"b": ["none"]}`: "", `{"b": ["none", "x"]}`: form.FaultExclusive,
	} {
		_, err := d.Accept(json.RawMessage(answers))
		var wrong *form.AnswersError
		got := form.FaultCode("")
		if errors.As(err, &wrong) {
			got = wrong.Faults[0].Code
		}
		if got != want {
			t.Errorf("%s: %q, want %q", answers, got, want)
		}
	}
}

// Who chooses what is "other" may say what it is, and nobody else; the authors may write
// that question themselves, and what a definition was read into reads as the same.
func TestAnOptionThatIsOtherAsksForAText(t *testing.T) {
	t.Parallel()
	const choose = `{"id": "a", "type": "multiple", "options": [{"value": "x"}, {"value": "y", "label": {"en": "Something else", "de": "Anderes"}, "other": true}]}`
	d, faults := form.Parse(json.RawMessage(asked(choose + `, {"id": "b", "type": "choice", "options": [{"value": "z", "other": true}]}, {"id": "b.other", "type": "longText", "label": "Mine"}`)))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := d.Label("a.other", "de") + d.Label("b.other", "de"); got != "AnderesMine" || len(d.Questions) != 4 {
		t.Errorf("%d questions, %q", len(d.Questions), got)
	}
	for answers, want := range map[string]string{
		`{"a": ["x", "y"], "a.other": "rain"}`:    `{"a":["x","y"],"a.other":"rain"}`,
		`{"a": ["x"], "a.other": "rain"}`:         `{"a":["x"]}`,
		`{"a": ["y"]}`:                            `{"a":["y"]}`,
		`{"a": ["y"], "a.other": "` + long + `"}`: `survey: the answers cannot be taken: "a.other" has more than 500 characters`,
		`{"b": "z", "b.other": "rain\nand more"}`: `{"b":"z","b.other":"rain\nand more"}`,
	} {
		got, err := d.Accept(json.RawMessage(answers))
		if err != nil {
			got = &form.Answers{JSON: json.RawMessage(err.Error())}
		}
		if string(got.JSON) != want {
			t.Errorf("%.60s: %s, want %s", answers, got.JSON, want)
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if again, faults := form.Parse(text); len(faults) > 0 || len(again.Questions) != 4 {
		t.Errorf("read again: %v", faults)
	}
	// Places are those of what was written.
	warnings, err := form.Validate(json.RawMessage(asked(choose + `, {"id": "b", "type": "text", "when": {"questionId": "a", "op": "contains", "value": "n"}}`)))
	if err != nil || !slices.ContainsFunc(warnings, func(f form.Fault) bool { return f.Path == "questions[1].when.value" }) {
		t.Errorf("%v, %v", warnings, err)
	}
}

var long = strings.Repeat("l", 501)

// The first ending that the answers match is shown, numbers compared as numbers.
func TestAnEndingIsChosenByTheAnswers(t *testing.T) {
	t.Parallel()
	d, faults := form.Parse(json.RawMessage(asked(`{"id": "a", "type": "nps"}`, `"endings": [
		{"when": {"questionId": "a", "op": ">=", "value": 9}, "text": "happy"},
		{"when": {"questionId": "a", "op": "<", "value": 7}, "text": "unhappy"}]`)))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for answers, want := range map[string]string{`{"a":10}`: "happy", `{"a":9}`: "happy", `{"a":8}`: "", `{"a":2}`: "unhappy", `{}`: "", `x`: ""} {
		got := ""
		if e := d.Ending(json.RawMessage(answers)); e != nil {
			got = e.Text.For("en")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", answers, got, want)
		}
	}
}

// A text that was published when it was no template stays as it is.
func TestFillLeavesWhatItCannotFill(t *testing.T) {
	t.Parallel()
	d := form.LinkData{Metadata: json.RawMessage(`{"city": "Cork"}`)}
	d.URL = "https://host.example/s/t?i=1"
	for text, want := range map[string]string{
		`{{.Choose "rate" 9}}`: "https://host.example/s/t?i=1&q.rate=9",
		"plain":                "plain", `In {{.Value "city"}}`: "In Cork", `In {{.Value "town"}}`: "In ", "{{": "{{", "{{.Nothing}}": "{{.Nothing}}",
	} {
		if got := form.Fill(text, d); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
