package survey_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/belfry-go/belfry/survey/form"
)

// wantConsistent: what Validate accepts the JSON Schema accepts, and it is written and
// read back as the same; what it refuses has faults to show.
func wantConsistent(t *testing.T, definition string) {
	t.Helper()
	_, err := form.Validate(json.RawMessage(definition))
	if err != nil {
		var listed *form.DefinitionError
		if !errors.As(err, &listed) || len(listed.Faults) == 0 || err.Error() == "" {
			t.Fatalf("%q: %v", definition, err)
		}
		return
	}
	if err := schemaRefuses(definition); err != nil {
		t.Fatalf("%s is accepted, but not by the schema: %v", definition, err)
	}
	var d form.Definition
	if err := json.Unmarshal([]byte(definition), &d); err != nil {
		t.Fatalf("%s: %v", definition, err)
	}
	wantSameDefinition(t, definition, d)
}

func FuzzDefinition(f *testing.F) {
	f.Add(csiGR)
	for _, c := range definitionCases {
		if len(c.definition) < 2000 {
			f.Add(c.definition)
		}
	}
	f.Fuzz(wantConsistent)
}

// One trigger, in a survey with one question.
func FuzzTrigger(f *testing.F) {
	f.Add(oneTrigger(``))
	f.Add(oneTrigger(`"filter": {"not": {"questionId": "candidate.a", "op": "in", "value": ["x", 1e2]}}, "expiresAfter": "1w", "expiryGrace": "1m"`))
	f.Add(oneTrigger(`"schedule": {"initialDelay": "60d", "reminders": ["5d", "10d", "15d"]}, "subscribers": [{"key": "a", "filter": {"questionId": "rate", "op": "<", "value": 3}}]`))
	f.Add(oneTrigger(`"dedupRecipe": ["candidate.\u001f", "candidate.\u0085", "templateId"]`))
	f.Fuzz(func(t *testing.T, trigger string) { wantConsistent(t, triggersJSON(trigger)) })
}

// A recipe: nothing but paths of an event, each once.
func FuzzRecipe(f *testing.F) {
	for _, path := range []string{"templateId", "recipient.address", "candidate.wip", "candidate.", "candidate.a\x1fb", "candidate.\u2028", "wip", "candidate.é", "recipient.locale\n"} {
		f.Add(path, "templateId")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		recipe, err := json.Marshal([]string{a, b})
		if err != nil {
			t.Fatal(err)
		}
		wantConsistent(t, triggerJSON(`"dedupRecipe": `+string(recipe)))
	})
}
