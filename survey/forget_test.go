package survey_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/survey"
)

// forgetting has the host forget what ended a month ago.
func (h *host) forgetting() {
	h.poller = belfry.NewPoller(h.store, &belfry.Options{Retention: belfry.Retention{Surveys: 30 * day, Events: 30 * day}}, h.survey)
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
