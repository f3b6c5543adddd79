package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

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

func TestWarnings(t *testing.T) {
	t.Parallel()
	const nobody = "triggers: has none that is enabled: no event produces an instance"
	const asks = "questions: has none: the form is kept elsewhere, and a link that leads to a page of this package shows nothing"
	const shared = "has the eventKind and the dedupRecipe of triggers[0]: one event produces an instance for each of them"
	for definition, want := range map[string][]string{
		csiGR:                           nil,
		`{}`:                            {asks, nobody},
		triggerJSON(`"enabled": false`): {nobody},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u"`)):                      {"triggers[1]: " + shared},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "eventKind": "sale"`)): nil,
		`{"questions": [` + askJSON + `, {"id": "n", "type": "choice", "options": [{"value": "1"}, {"value": "2"}]}, {"id": "m", "type": "multiple", "options": [{"value": "a"}]},
			{"id": "x", "type": "date", "when": {"all": [{"questionId": "ask", "op": "==", "value": "Yes"}, {"questionId": "ask", "op": "!=", "value": "no"}, {"questionId": "n", "op": "in", "value": [1, "2", "3"]},
				{"questionId": "m", "op": "==", "value": "a"}, {"questionId": "m", "op": "contains", "value": "b"}, {"questionId": "m", "op": "contains", "value": "a"}, {"questionId": "n", "op": "exists"}]}}],
			"triggers": [` + oneTrigger(`"subscribers": [{"key": "k"}, {"key": "s", "filter": {"not": {"questionId": "ask", "op": "in", "value": [true]}}}]`) + `]}`: {
			`questions[3].when.all[0].value: is not an answer to ask: ["yes" "no"] are`, `questions[3].when.all[2].value[2]: is not an answer to n: ["1" "2"] are`,
			"questions[3].when.all[3].op: compares a list of options, which equals nothing; contains looks into it", `questions[3].when.all[4].value: is not an answer to m: ["a"] are`,
			`triggers[0].subscribers[1].filter.not.value[0]: is not an answer to ask: ["yes" "no"] are`,
		},
		`{"triggers": [` + oneTrigger(`"schedule": {"initialDelay": "0d", "reminders": ["1d"]}`) + `], "messages": [{"ordinal": 0, "subject": "Hello", "text": {"en": "{{if .Value \"x\"}}{{.URL}}{{end}}", "ar": "a"}, "html": "<p>"}, {"ordinal": 1, "text": "b", "html": "<a href='{{.URL}}'>a</a>"}]}`: {
			"messages[0].text.ar: has no {{.URL}}: customers get no link", "messages[0].html: has no {{.URL}}: customers get no link", "messages[1].text: has no {{.URL}}: customers get no link", asks,
		},
		`{"questions": [` + askJSON + `], "triggers": [` + oneTrigger(`"schedule": {"initialDelay": "0d", "reminders": ["1d", "2d"]}`) + `, ` + oneTrigger(`"id": "u", "eventKind": "sale"`) + `],
			"messages": [{"ordinal": 2, "text": "{{.URL}}"}, {"ordinal": 3, "text": "{{.URL}}"}]}`: {"messages[1].ordinal: is never used: triggers have 2 reminders at most"},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "dedupRecipe": ["candidate.wip", "templateId", "recipient.address"]`)): {"triggers[1]: " + shared},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "dedupRecipe": ["templateId", "recipient.address", "candidate.vin"]`)): nil,
		triggerJSON(`"filter": {"any": [{"questionId": "candidate.jobtype", "op": "==", "value": "GR"}, {"questionId": "candidate.wip", "op": "exists"}, {"not": {"questionId": "candidate.WIP", "op": "exists"}}]},
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip", "candidate.jobType"]`): {
			"triggers[0].filter.any[0].questionId: differs from candidate.jobType in case only: no event has both", "triggers[0].filter.any[2].not.questionId: differs from candidate.wip in case only: no event has both",
		},
		`{"unhappy": {"any": [{"questionId": "a", "op": "<", "value": 3}, {"questionId": "c", "op": "==", "value": "No"}]}, "questions": [{"id": "a", "type": "rating"}, {"id": "b", "type": "nps"}, {"id": "c", "type": "yesNo"}],
			"endings": [{"when": {"questionId": "c", "op": "==", "value": true}, "text": "x"}], "triggers": [` + oneTrigger(``) + `]}`: {
			`endings[0].when.value: is not an answer to c: ["yes" "no"] are`, `unhappy.any[1].value: is not an answer to c: ["yes" "no"] are`,
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

// A definition as large as may be is stored, and every case that Validate accepts.
func TestWhatIsValidIsPublished(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		surveys := survey.New(store, nil, nil)
		big := `{"intro": "a", "thanks": {` + strings.Join(localesJSON(3, strings.Repeat("é", 10_000)), ", ") + `}, "messages": [` +
			strings.Join(times(21, func(i int) string {
				return fmt.Sprintf(`{"ordinal": %d, "text": %q}`, i, strings.Repeat("é", 4795))
			}), ", ") + `]}`
		all := map[string]definitionCase{"big": {definition: big}}
		for name, c := range definitionCases {
			all[name] = c
		}
		for name, c := range triggerCases {
			all[name] = c
		}
		for name, c := range all {
			if len(c.faults) > 0 {
				continue
			}
			v := survey.Version{SurveyID: 4523, Name: "CSI", IntegrationID: "csi-gr", Definition: json.RawMessage(c.definition)}
			if _, err := surveys.Publish(t.Context(), v); err != nil {
				t.Error(name, err)
				continue
			}
			d, err := surveys.Definition(t.Context(), "", 4523, 0)
			if err != nil {
				t.Error(name, err)
			}
			wantSameDefinition(t, c.definition, d)
		}
	})
}

// wantSameDefinition compares a definition with what its text says, and writes it out
// and reads it again.
func wantSameDefinition(t *testing.T, text string, got form.Definition) {
	t.Helper()
	var want form.Definition
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := form.Validate(written); err != nil {
		t.Errorf("%s: %v", written, err)
	}
	var again form.Definition
	if err := json.Unmarshal(written, &again); err != nil {
		t.Fatal(err)
	}
	for _, d := range []form.Definition{got, again} {
		if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%.300s: %s", text, diff)
		}
	}
}

// All that is wrong is listed, before anything is published.
func ExampleValidate() {
	_, err := form.Validate(json.RawMessage(`{
		"questions": [{"id": "rate", "type": "stars"}],
		"triggers": [{
			"id": "visit", "enabled": true, "eventKind": "service-visit-closed",
			"filter": {"questionId": "jobType", "op": "==", "value": "GR"},
			"dedupRecipe": ["templateId", "templateId"],
			"schedule": {"initialDelay": "1d", "reminders": ["2 d"]},
			"channel": "sms:twilio", "expiresAfter": "12h"
		}]
	}`))
	var refused *form.DefinitionError
	if errors.As(err, &refused) {
		for _, f := range refused.Faults {
			fmt.Println(f)
		}
	}
	// Output:
	// triggers[0].schedule.reminders[0]: "2 d" has a unit that is not one of w, d, h and m (at position 2)
	// questions[0].type: "stars" is not a type of question: take one of choice, date, grid, longText, multiple, nps, number, page, ranking, rating, text, yesNo
	// triggers[0].filter.questionId: is not one of templateId, recipient.address, recipient.locale, recipient.customerRef and candidate.…
	// triggers[0].dedupRecipe[1]: is the same as triggers[0].dedupRecipe[0]
	// triggers[0].expiresAfter: is 12h, shorter than initialDelay and all reminders together, 1d
}
