package survey_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey/form"
)

// eachDefinition runs a test on every case.
func eachDefinition(t *testing.T, test func(t *testing.T, c definitionCase)) {
	all := maps.Clone(definitionCases)
	maps.Copy(all, triggerCases)
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// faultsOf are the faults that an error lists.
func faultsOf(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var listed *form.DefinitionError
	if !errors.As(err, &listed) {
		t.Fatal(err)
	}
	return faultTexts(listed.Faults)
}

func faultTexts(faults []form.Fault) (out []string) {
	for _, f := range faults {
		out = append(out, f.String())
	}
	return out
}

//spec:t-010
func TestEverythingThatIsWrongIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	eachDefinition(t, func(t *testing.T, c definitionCase) {
		_, err := form.Validate(json.RawMessage(c.definition))
		if diff := cmp.Diff(c.faults, faultsOf(t, err)); diff != "" {
			t.Errorf("%.300s (-want +got):\n%s", c.definition, diff)
		}
	})
}

func TestAnErrorShowsTheFirstFaults(t *testing.T) {
	t.Parallel()
	_, err := form.Validate(json.RawMessage(questionsJSON(times(12, func(int) string { return `{"id": "q", "type": "date"}` })...)))
	got := err.Error()
	if !strings.HasPrefix(got, "survey: definition: questions[1].id: is the same as questions[0].id; ") || !strings.HasSuffix(got, "questions[10].id: is the same as questions[0].id; and 1 more") {
		t.Error(got)
	}
}

//spec:t-010 t-019 t-031
func TestWarnings(t *testing.T) {
	t.Parallel()
	const nobody = "triggers: has none that is enabled: no event produces an instance"
	const shared = "has the eventKind and the dedupRecipe of triggers[0]: one event produces an instance for each of them"
	for definition, want := range map[string][]string{
		csiGR:                           nil,
		`{}`:                            {nobody},
		triggerJSON(`"enabled": false`): {nobody},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u"`)):                      {"triggers[1]: " + shared},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "eventKind": "sale"`)): nil,
		`{"questions": [` + askJSON + `, {"id": "n", "type": "choice", "options": [{"value": "1"}, {"value": "2"}]}, {"id": "m", "type": "multiple", "options": [{"value": "a"}]},
			{"id": "x", "type": "date", "when": {"all": [{"questionId": "ask", "op": "==", "value": "Yes"}, {"questionId": "ask", "op": "!=", "value": "no"}, {"questionId": "n", "op": "in", "value": [1, "2", "3"]},
				{"questionId": "m", "op": "==", "value": "a"}, {"questionId": "m", "op": "contains", "value": "b"}, {"questionId": "m", "op": "contains", "value": "a"}, {"questionId": "n", "op": "exists"}]}}],
			"triggers": [` + oneTrigger(`"subscribers": [{"key": "k"}, {"key": "s", "filter": {"not": {"questionId": "ask", "op": "in", "value": [true]}}}]`) + `]}`: {
			`questions[3].when.all[0].value: is no answer to ask: ["yes" "no"] are`, `questions[3].when.all[2].value[2]: is no answer to n: ["1" "2"] are`,
			"questions[3].when.all[3].op: compares a list of options, which equals nothing; contains looks into it", `questions[3].when.all[4].value: is no answer to m: ["a"] are`,
			`triggers[0].subscribers[1].filter.not.value[0]: is no answer to ask: ["yes" "no"] are`,
		},
		`{"triggers": [` + oneTrigger(``) + `], "messages": [{"ordinal": 0, "subject": "Hello", "text": {"en": "{{if .Value \"x\"}}{{.URL}}{{end}}", "ar": "a"}, "html": "<p>"}, {"ordinal": 1, "text": "b", "html": "<a href='{{.URL}}'>a</a>"}]}`: {
			"messages[0].text.ar: has no {{.URL}}: customers get no link", "messages[0].html: has no {{.URL}}: customers get no link", "messages[1].text: has no {{.URL}}: customers get no link",
		},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "dedupRecipe": ["candidate.wip", "templateId", "recipient.address"]`)): {"triggers[1]: " + shared},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "dedupRecipe": ["templateId", "recipient.address", "candidate.vin"]`)): nil,
		triggerJSON(`"filter": {"any": [{"questionId": "candidate.jobtype", "op": "==", "value": "GR"}, {"questionId": "candidate.wip", "op": "exists"}, {"not": {"questionId": "candidate.WIP", "op": "exists"}}]},
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip", "candidate.jobType"]`): {
			"triggers[0].filter.any[0].questionId: differs from candidate.jobType in case only: no event has both", "triggers[0].filter.any[2].not.questionId: differs from candidate.wip in case only: no event has both",
		},
		triggerJSON(`"dedupRecipe": ["candidate.wip"]`):                   {"triggers[0].dedupRecipe: lacks templateId, which every recipe should have", "triggers[0].dedupRecipe: lacks recipient.address, which every recipe should have"},
		triggerJSON(`"dedupRecipe": ["templateId", "recipient.address"]`): {"triggers[0].dedupRecipe: has nothing that identifies the event: a recipient is asked once and never again"},
	} {
		warnings, err := form.Validate(json.RawMessage(definition))
		if diff := cmp.Diff(want, faultTexts(warnings)); diff != "" || err != nil {
			t.Error(err, definition, diff)
		}
	}
}
