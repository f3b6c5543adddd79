package form_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey/form"
)

// oneTrigger is a trigger whose members are replaced by those given; null leaves one out.
func oneTrigger(replace string) string {
	members := map[string]json.RawMessage{}
	for _, text := range []string{`{"id": "t", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
		"schedule": {"initialDelay": "0d"}, "channel": "memory:default"}`, "{" + replace + "}"} {
		if err := json.Unmarshal([]byte(text), &members); err != nil {
			panic(err)
		}
	}
	for name, value := range members {
		if string(value) == "null" {
			delete(members, name)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// triggersJSON is a definition with the question rate and those triggers.
func triggersJSON(list ...string) string {
	return `{"questions": [` + rateJSON + `], "triggers": [` + strings.Join(list, ", ") + `]}`
}

func triggerJSON(replace string) string { return triggersJSON(oneTrigger(replace)) }

// triggerCases are more of definitionCases.
var triggerCases = map[string]definitionCase{
	"a trigger": {definition: triggerJSON(``)},
	"a whole trigger": {definition: triggerJSON(`"enabled": false, "filter": {"any": [{"questionId": "candidate.a.b c", "op": "in", "value": ["x", 1]}, {"questionId": "templateId", "op": "==", "value": 4523}]},
		"dedupRecipe": ["recipient.customerRef", "recipient.locale", "candidate.wip", "candidate.dealer id"], "dedupScope": "survey", "schedule": {"initialDelay": "60d", "reminders": ["5d", "10d", "15d"]},
		"channel": "whatsapp:360dialog.eu_1", "expiresAfter": "90d", "expiryGrace": "1d12h",
		"subscribers": [{"key": "servicebus:csi-tickets", "filter": {"questionId": "rate", "op": "<=", "value": 7}}, {"key": "webhook:bi-ingest"}]`)},
	"two triggers":           {definition: triggersJSON(oneTrigger(``), oneTrigger(`"id": "u"`))},
	"a trigger without":      {definition: triggersJSON(`{}`), faults: []string{"triggers[0].id: is missing", "triggers[0].enabled: is missing", "triggers[0].eventKind: is missing", "triggers[0].dedupRecipe: is missing", "triggers[0].schedule: is missing", "triggers[0].channel: is missing"}},
	"an id of two":           {definition: triggersJSON(oneTrigger(``), oneTrigger(``)), faults: []string{"triggers[1].id: is the same as triggers[0].id"}, blind: true},
	"an id with a separator": {definition: triggerJSON(`"id": "a\u001fb"`), faults: []string{`triggers[0].id: "a\x1fb" is not an id: ` + visible}},
	"too many triggers":      {definition: triggersJSON(times(51, func(i int) string { return oneTrigger(fmt.Sprintf(`"id": "t%d"`, i)) })...), faults: []string{"triggers: has 51 elements, more than 50"}},
	"no kind":                {definition: triggerJSON(`"eventKind": ""`), faults: []string{"triggers[0].eventKind: is empty"}},
	"a kind of two lines":    {definition: triggerJSON(`"eventKind": "a\nb"`), faults: []string{"triggers[0].eventKind: holds the control character U+000A"}},
	"a long kind":            {definition: triggerJSON(`"eventKind": "` + strings.Repeat("é", 201) + `"`), faults: []string{"triggers[0].eventKind: has 201 characters, more than 200"}},
	"a bad filter":           {definition: triggerJSON(`"filter": {"questionId": "candidate.x", "op": "==", "value": 1, "all": []}`), faults: []string{"triggers[0].filter: is a condition and all at once; put one inside the other"}},
	"a filter on nothing":    {definition: triggerJSON(`"filter": {"all": [{"not": {"questionId": "jobType", "op": "exists"}}, {"questionId": "rate", "op": "exists"}]}`), faults: []string{"triggers[0].filter.all[0].not.questionId: " + nowhere, "triggers[0].filter.all[1].questionId: " + nowhere}, blind: true},
	"a list for ==":          {definition: triggerJSON(`"filter": {"questionId": "candidate.x", "op": "==", "value": ["a"]}`), faults: []string{"triggers[0].filter.value: is neither a text nor a number nor true or false"}},
	"a filter without value": {definition: triggerJSON(`"filter": {"questionId": "candidate.x", "op": "in"}`), faults: []string{"triggers[0].filter.value: is not a list of at least one value"}},
	"true above":             {definition: triggerJSON(`"filter": {"questionId": "candidate.x", "op": ">", "value": true}`), faults: []string{"triggers[0].filter.value: is true or false, which > cannot compare"}},
	"a number begins":        {definition: triggerJSON(`"filter": {"questionId": "candidate.x", "op": "startsWith", "value": 1}`), faults: []string{"triggers[0].filter.value: is not a text"}},
	"a filter of half":       {definition: triggerJSON(`"filter": {"questionId": "candidate.x"}`), faults: []string{`triggers[0].filter.op: "" is not one of [== != > >= < <= in notIn contains startsWith exists]`}},
	"an empty recipe":        {definition: triggerJSON(`"dedupRecipe": []`), faults: []string{"triggers[0].dedupRecipe: is empty: every event would be the same"}},
	"a recipe of nothing":    {definition: triggerJSON(`"dedupRecipe": ["wip", "candidate.", "candidate", "recipient.adress", "templateId.x"]`), faults: []string{"triggers[0].dedupRecipe[0]: " + nowhere, "triggers[0].dedupRecipe[1]: " + nowhere, "triggers[0].dedupRecipe[2]: " + nowhere, "triggers[0].dedupRecipe[3]: " + nowhere, "triggers[0].dedupRecipe[4]: " + nowhere}},
	"a recipe with a bridge": {definition: triggerJSON(`"dedupRecipe": ["candidate.a\u001fcandidate.b"]`), faults: []string{"triggers[0].dedupRecipe[0]: holds the control character U+001F"}},
	"a path of no event": {definition: triggerJSON(`"filter": {"questionId": "candidate.` + strings.Repeat("و", 100) + `", "op": "exists"}, "dedupRecipe": ["candidate.a=b", "candidate.` + strings.Repeat("و", 100) + `"]`), blind: true, faults: []string{
		"triggers[0].filter.questionId: has 210 bytes, more than the 200 of the longest path of an event",
		"triggers[0].dedupRecipe[0]: holds an equals sign, which stands between path and value in what is hashed", "triggers[0].dedupRecipe[1]: has 210 bytes, more than the 200 of the longest path of an event"}},
	"a dot at the end":       {definition: triggerJSON(`"filter": {"questionId": "candidate.b.", "op": "exists"}, "dedupRecipe": ["candidate.a."]`), faults: []string{"triggers[0].filter.questionId: ends with a dot, as no path of an event does", "triggers[0].dedupRecipe[0]: ends with a dot, as no path of an event does"}},
	"dots elsewhere":         {definition: triggerJSON(`"dedupRecipe": ["candidate..a", "candidate.b..c", "candidate.d"]`)},
	"a path twice":           {definition: triggerJSON(`"dedupRecipe": ["templateId", "candidate.a", "templateId"]`), faults: []string{"triggers[0].dedupRecipe[2]: is the same as triggers[0].dedupRecipe[0]"}},
	"a long recipe":          {definition: triggerJSON(`"dedupRecipe": [` + strings.Join(times(21, func(i int) string { return fmt.Sprintf(`"candidate.%d"`, i) }), ", ") + `]`), faults: []string{"triggers[0].dedupRecipe: has 21 elements, more than 20"}},
	"a bad scope":            {definition: triggerJSON(`"dedupScope": "tenant"`), faults: []string{`triggers[0].dedupScope: "tenant" is neither trigger nor survey`}},
	"no delay":               {definition: triggerJSON(`"schedule": {"reminders": ["1d"]}`), faults: []string{"triggers[0].schedule.initialDelay: is missing"}},
	"bad delays":             {definition: triggerJSON(`"schedule": {"initialDelay": "", "reminders": ["-1d", 5, "1d1d"]}`), faults: []string{`triggers[0].schedule.initialDelay: "" is empty (at position 1)`, `triggers[0].schedule.reminders[0]: "-1d" has no number there (at position 1)`, `triggers[0].schedule.reminders[1]: is not a text such as "2d"`, `triggers[0].schedule.reminders[2]: "1d1d" has its units not in the order w, d, h, m, each once (at position 4)`}},
	"a reminder at once":     {definition: triggerJSON(`"schedule": {"initialDelay": "0d", "reminders": ["0h"]}`), faults: []string{"triggers[0].schedule.reminders[0]: is 0d, less than 1m"}, blind: true},
	"too many reminders":     {definition: triggerJSON(`"schedule": {"initialDelay": "0d", "reminders": [` + strings.Join(times(21, func(int) string { return `"1d"` }), ", ") + `]}`), faults: []string{"triggers[0].schedule.reminders: has 21 elements, more than 20"}},
	"a long delay":           {definition: triggerJSON(`"schedule": {"initialDelay": "1831d"}`), faults: []string{"triggers[0].schedule.initialDelay: is 1831d, more than 1830 days", "triggers[0].schedule: is longer than 1830 days altogether"}, blind: true},
	"a long schedule":        {definition: triggerJSON(`"schedule": {"initialDelay": "0d", "reminders": ["1000d", "831d"]}`), faults: []string{"triggers[0].schedule: is longer than 1830 days altogether"}, blind: true},
	"delays that overflow":   {definition: triggerJSON(`"schedule": {"initialDelay": "106751d", "reminders": ["106751d", "106751d"]}`), faults: []string{"triggers[0].schedule.initialDelay: is 106751d, more than 1830 days", "triggers[0].schedule.reminders[0]: is 106751d, more than 1830 days", "triggers[0].schedule.reminders[1]: is 106751d, more than 1830 days", "triggers[0].schedule: is longer than 1830 days altogether"}, blind: true},
	"expires just in time":   {definition: triggerJSON(`"schedule": {"initialDelay": "60d", "reminders": ["5d", "10d", "15d"]}, "expiresAfter": "12w6d"`)},
	"expires too early":      {definition: triggerJSON(`"schedule": {"initialDelay": "60d", "reminders": ["5d", "10d", "15d"]}, "expiresAfter": "89d23h59m"`), faults: []string{"triggers[0].expiresAfter: is 89d23h59m, shorter than initialDelay and all reminders together, 90d"}, blind: true},
	"expires at once":        {definition: triggerJSON(`"expiresAfter": "0d", "expiryGrace": "0d"`), faults: []string{"triggers[0].expiryGrace: is 0d, less than 1m", "triggers[0].expiresAfter: is 0d, less than 1m"}, blind: true},
	"bad channels":           {definition: triggersJSON(oneTrigger(`"id": "a", "channel": "email"`), oneTrigger(`"id": "b", "channel": ":smtp"`), oneTrigger(`"id": "c", "channel": "email:"`), oneTrigger(`"id": "d", "channel": "Email:smtp"`), oneTrigger(`"id": "e", "channel": "email:a b"`)), faults: []string{`triggers[0].channel: "email" ` + noKey, `triggers[1].channel: ":smtp" ` + noKey, `triggers[2].channel: "email:" ` + noKey, `triggers[3].channel: "Email:smtp" ` + noKey, `triggers[4].channel: "email:a b" ` + noKey}},
	"a subscriber twice":     {definition: triggerJSON(`"subscribers": [{"key": "a"}, {"key": "b"}, {"key": "a"}]`), faults: []string{"triggers[0].subscribers[2].key: is the same as triggers[0].subscribers[0].key"}, blind: true},
	"a subscriber without":   {definition: triggerJSON(`"subscribers": [{}, {"key": ""}, {"key": "a\u0000"}]`), faults: []string{"triggers[0].subscribers[0].key: is missing", "triggers[0].subscribers[1].key: is empty", "triggers[0].subscribers[2].key: holds the control character U+0000"}},
	"a route by no question": {definition: triggerJSON(`"subscribers": [{"key": "a", "filter": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}}]`), faults: []string{"triggers[0].subscribers[0].filter.questionId: is not a question of this survey"}, blind: true},
	"many subscribers":       {definition: triggerJSON(`"subscribers": [` + strings.Join(times(21, func(i int) string { return fmt.Sprintf(`{"key": "s%d"}`, i) }), ", ") + `]`), faults: []string{"triggers[0].subscribers: has 21 elements, more than 20"}},
}

// A trigger without a channel is one whose links the host delivers: it says nothing about
// sends.
func TestATriggerWithoutAChannelSendsNothing(t *testing.T) {
	t.Parallel()
	trigger := func(schedule, more string) []byte {
		return []byte(`{"questions": [{"id": "rate", "type": "rating"}], "triggers": [{"id": "t", "enabled": true, "eventKind": "visit",
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"], "channel": "none", "schedule": ` + schedule + more + `}]}`)
	}
	if warnings, err := form.Validate(trigger(`{"initialDelay": "0d"}`, "")); err != nil || len(warnings) != 0 {
		t.Error(warnings, err)
	}
	for path, definition := range map[string][]byte{
		"triggers[0].schedule.initialDelay":  trigger(`{"initialDelay": "1d"}`, ""),
		"triggers[0].schedule.reminders":     trigger(`{"initialDelay": "0d", "reminders": ["1d"]}`, ""),
		"triggers[0].contact.notAskedWithin": trigger(`{"initialDelay": "0d"}`, `, "contact": {"notAskedWithin": "1d"}`),
	} {
		if _, err := form.Validate(definition); err == nil || err.Error() != "survey: definition: "+path+": needs a channel that sends" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
