package survey_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/survey"
)

// A trigger of no channel makes links that the host delivers: nothing is sent, by nobody;
// they are asked from ingest on, once for each event, answered as others are, and expire.
func TestAHostDeliversLinksItself(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(strings.Replace(definition("0d", nil), `"channel": "memory:default"`, `"channel": "none", "expiryGrace": "10d"`, 1))
		first, second := h.tell("1", ann), h.tell("2", ann)
		if again := h.about(survey.Item{Payload: []byte(`{"wip":"1"}`), Recipient: ann}); again.Skipped != 1 {
			t.Errorf("%+v", again)
		}
		h.at(oneDay)
		if got := h.status(first, survey.StatusSent); len(h.sent()) != 0 || !got.LastSentOn.Equal(start) || !got.NextSendOn.IsZero() {
			t.Errorf("%d sent, %+v", len(h.sent()), got)
		}
		link, err := h.survey.Link(t.Context(), "", first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.survey.Submit(t.Context(), tokenOf(link), survey.Response{Answers: json.RawMessage(`{"rate": 9}`)}); err != nil {
			t.Fatal(err)
		}
		got, err := h.survey.Results().Get(t.Context(), "", survey.ResultQuery{SurveyID: 4523})
		if err != nil || len(got.Groups) != 1 || got.Groups[0].Asked != 2 || got.Groups[0].Answered != 1 || got.Groups[0].Wait != 0 { // of one it is not told
			t.Errorf("%+v, %v", got, err)
		}
		for name, act := range map[string]error{
			"Retry": h.survey.Support().Retry(t.Context(), "", second, someone), "Rerun": h.survey.Support().Rerun(t.Context(), "", second, someone),
		} {
			if !errors.Is(act, survey.ErrActionRefused) || !strings.Contains(act.Error(), "its host delivers it") {
				t.Errorf("%s: %v", name, act)
			}
		}
		story, err := h.survey.Support().Explain(t.Context(), "", second)
		if err != nil || !strings.Contains(story.String(), "through none") || !story.ExpiresOn.Equal(start.Add(10*oneDay)) {
			t.Errorf("%v\n%v", story, err)
		}
		h.at(10*oneDay - time.Second)
		h.status(second, survey.StatusSent)
		h.at(10 * oneDay)
		h.status(second, survey.StatusExpired)
	})
}

// A link that a host delivered has asked its customer, as those do that were sent.
func TestALinkThatAHostDeliversCountsForContactRules(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(strings.Replace(definition("0d", nil), `"channel": "memory:default"`, `"channel": "none", "contact": {"group": "g"}`, 1))
		h.tell("1", ann)
		h.publish(definition("0d", nil, `"contact": {"notAskedWithin": "90d"}`))
		next := h.tell("2", ann)
		h.drain()
		if got := h.status(next, survey.StatusSkipped); got.ReasonCode != reasons.AskedLately || len(h.sent()) != 0 {
			t.Errorf("%+v", got)
		}
	})
}
