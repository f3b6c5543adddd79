package survey_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// forgetting has the host forget what ended a month ago.
func (h *host) forgetting() {
	h.poller = belfry.NewPoller(h.store, &belfry.Options{Retention: belfry.Retention{Surveys: 30 * day, Events: 30 * day}}, h.survey, h.out)
}

// days lets so many days pass, each with its polls.
func (h *host) days(n int) {
	h.t.Helper()
	for range n {
		h.clock.Add(day)
		h.drain()
	}
}

// An instance that is forgotten asks nobody again when its event is told again: it
// answers with the same id.
func TestAnInstanceThatIsForgottenAsksNobodyAgain(t *testing.T) {
	t.Parallel()
	for name, horizon := range map[string]time.Duration{"for ever": 0, "until the horizon": 100 * day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachHost(t, &survey.Options{ForgetAfter: horizon}, func(h *host) {
				h.forgetting()
				h.publish(csiGR)
				id := h.ingest().Items[0].Instances[0].PublicID
				h.drain()
				first := len(h.sent())
				h.days(90)
				found, log, err := h.survey.Support().Instance(h.t.Context(), "", id)
				if err != nil || found.ForgottenOn.IsZero() || found.RecipientAddress != "" || found.CustomerRef != "" || len(found.Metadata) > 4 || len(log) != 0 {
					h.t.Errorf("%+v %v %v", found, log, err)
				}
				if e := h.explain(id); e.Now != "nothing more" {
					h.t.Errorf("what is explained of it: %s", e.Now)
				}
				again := h.ingest().Items[0].Instances[0]
				if again.PublicID != id || again.Outcome != survey.Skipped {
					h.t.Errorf("%+v, at first %s", again, id)
				}
				h.days(2)
				if got := len(h.sent()); first != 1 || got != 2 { // the link, and the reminder of the schedule
					h.t.Errorf("%d links were sent, %d at first", got, first)
				}
				if err := h.survey.Support().Cancel(h.t.Context(), "", id, survey.By{Actor: "kim", Reason: "a test"}); !errors.Is(err, survey.ErrActionRefused) {
					h.t.Errorf("Cancel: %v", err)
				}
				h.days(60)
				_, _, err = h.survey.Support().Instance(h.t.Context(), "", id)
				if gone := err != nil; gone != (horizon > 0) {
					h.t.Errorf("at the horizon: %v", err)
				}
			})
		})
	}
}

// Responses and their answers stay, unless the host says for how long. Then nobody is
// asked again, and the counts of the survey stay as they are.
func TestResponsesGoOnlyIfTheHostSaysSo(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]time.Duration{"by default": 0, "after a month": 30 * day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachHost(t, nil, func(h *host) {
				h.poller = belfry.NewPoller(h.store, &belfry.Options{Retention: belfry.Retention{Surveys: 60 * day, Responses: keep}}, h.survey, h.out)
				h.publish(csiGR)
				id := h.ingest().Items[0].Instances[0].PublicID
				h.drain()
				answer := survey.Response{Answers: json.RawMessage(`{"rate": 1, "has-a-complaint": "yes", "complaint": "tweety was stolen"}`)}
				if _, err := h.survey.Complete(h.t.Context(), "", id, answer); err != nil {
					h.t.Fatal(err)
				}
				h.days(20)
				again, err := h.survey.Complete(h.t.Context(), "", id, answer)
				if err != nil || !again.Repeated {
					h.t.Errorf("after 20 days: %+v, %v", again, err)
				}
				h.days(25) // and seven of notice
				_, err = h.survey.Responses().Get(h.t.Context(), "", id)
				if gone := errors.Is(err, storage.ErrNotFound); gone != (keep > 0) {
					h.t.Errorf("the response: %v", err)
				}
				if left := h.counts(); (left[0]+left[1] == 0) != (keep > 0) {
					h.t.Errorf("%v responses, answers and events", left)
				}
				if keep > 0 {
					if _, err := h.survey.Complete(h.t.Context(), "", id, answer); !errors.Is(err, survey.ErrNoSurvey) {
						h.t.Errorf("answered again: %v", err)
					}
				}
				h.days(40) // the instance is a stub
				told := h.ingest().Items[0].Instances[0]
				h.days(3)
				if told.PublicID != id || told.Outcome != survey.Skipped || len(h.sent()) != 1 {
					h.t.Errorf("%+v, %d links", told, len(h.sent()))
				}
				if stub, _, err := h.survey.Support().Instance(h.t.Context(), "", id); err != nil || stub.Status != survey.StatusCompleted {
					h.t.Errorf("%+v, %v", stub, err)
				}
			})
		})
	}
}
