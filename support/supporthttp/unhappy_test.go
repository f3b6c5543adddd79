package supporthttp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
)

// The page of unhappy responses is asked for by queue, state, day and person, says how many there are,
// and shows nothing personal to who may not see it.
func TestUnhappyResponsesHaveAPage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	definition := strings.Replace(visit, `"questions":`, `"unhappy": {"questionId": "rate", "op": "<=", "value": 2}, "queue": "candidate.desk", "questions":`, 1)
	definition = strings.Replace(definition, `{"id": "rate", "type": "rating"}`, `{"id": "rate", "type": "rating"}, {"id": "why", "type": "text"}`, 1)
	_, err := o.surveys.Publish(t.Context(), survey.Version{Scope: "north", SurveyID: 11, Name: "Visits", Definition: json.RawMessage(definition)})
	o.must(err)
	var ids []string
	for _, desk := range []string{"red", "blue", "blue"} {
		got, err := o.surveys.Ingest(t.Context(), survey.Batch{Scope: "north", EventKind: "visit-closed", Items: []survey.Item{{
			Payload: json.RawMessage(`{"desk": "` + desk + `"}`), Recipient: survey.Recipient{Address: strings.Repeat("x", 1+len(ids)) + address, CustomerRef: person},
		}}})
		o.must(err)
		for _, i := range got.Items[0].Instances {
			if i.SurveyID == 11 {
				_, err := o.surveys.Complete(t.Context(), "north", i.PublicID, survey.Response{Answers: json.RawMessage(`{"rate": 1, "why": "` + canary + `"}`)})
				o.must(err)
				ids = append(ids, i.PublicID)
			}
		}
	}
	h := o.site(everything)
	for query, want := range map[string]int{
		"": 3, "?queue=blue": 2, "?queue=green": 0, "?mine=true": 0, "?state=Assigned": 0, "?state=Open": 3, "?from=2026-03-01&to=2026-03-01": 3, "?from=2026-03-02": 0, "?to=2026-02-28": 0, "?queue=red&state=Open": 1,
	} {
		_, body := o.ask(h, "GET", "/unhappy"+query, "")
		if n := strings.Count(body, `<td class="at">`); n != want || !strings.Contains(body, "blue (2)") && want > 0 && !strings.Contains(query, "queue=red") {
			t.Errorf("%q: %d rows, not %d: %s", query, n, want, body)
		}
	}
	for _, query := range []string{"?from=x", "?state=Nothing", "?queue=%00", "?to=2026-13-01"} {
		if answer, _ := o.ask(h, "GET", "/unhappy"+query, ""); answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", query, answer.StatusCode)
		}
	}
	if _, body := o.ask(h, "GET", "/unhappy", ""); !strings.Contains(body, canary) || !strings.Contains(body, "3 responses, the newest first.") {
		t.Error(body)
	}
	if _, body := o.ask(h, "GET", "/api/v1/unhappy", ""); strings.Count(body, `"kind":"Response"`) != 3 {
		t.Error(body)
	}
	blind := everything
	blind.Personal = false
	if _, body := o.ask(o.site(blind), "GET", "/unhappy", ""); strings.Contains(body, canary) || strings.Count(body, `<td class="at">`) != 3 {
		t.Error(body)
	}
	form := "action=Take&target=Response+" + ids[0] + "&back=unhappy%3Fqueue%3Dred"
	if _, body := o.ask(h, "POST", "/act", form); !strings.Contains(body, "is with you from now on") || !strings.Contains(body, `value="to deal with it"`) || !strings.Contains(body, `href="unhappy?queue=red"`) {
		t.Error(body)
	}
	if _, body := o.ask(h, "POST", "/act", form+"&confirm=yes&reason=to+deal+with+it"); !strings.Contains(body, "Done for 1 of 1") {
		t.Error(body)
	}
	if _, body := o.ask(h, "GET", "/unhappy?mine=true", ""); strings.Count(body, `<td class="at">`) != 1 {
		t.Error(body)
	}
}
