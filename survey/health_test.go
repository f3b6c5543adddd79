package survey_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

func (h *host) health(of *survey.Service) health.Summary {
	h.t.Helper()
	got, err := of.Health(h.t.Context(), storage.Within(""))
	if err != nil {
		h.t.Fatal(err)
	}
	everywhere, err := of.Health(h.t.Context(), storage.Everywhere())
	if err != nil {
		h.t.Fatal(err)
	}
	if everywhere.Everywhere = false; cmp.Diff(got, everywhere) != "" { // there is but one tenant
		h.t.Error(cmp.Diff(got, everywhere))
	}
	elsewhere, err := of.Health(h.t.Context(), storage.Within("other"))
	if diff := cmp.Diff(health.Summary{On: got.On, Scope: "other"}, elsewhere); diff != "" || err != nil {
		h.t.Error(diff, err)
	}
	return got
}

func TestHealthCountsLinksThatAreDue(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.linked(csiGR)
		h.clock.Add(time.Hour)
		due := health.Due{Table: "survey_instance", Kind: survey.NotificationType, Rows: 1, OldestOn: start, Served: true}
		want := health.Summary{On: start.Add(time.Hour), Due: []health.Due{due}}
		if diff := cmp.Diff(want, h.health(h.survey)); diff != "" {
			h.t.Error(diff)
		}
		want.Due[0].Served = false
		if diff := cmp.Diff(want, h.health(survey.New(h.store, nil, nil))); diff != "" {
			h.t.Error("a process without the channel:", diff)
		}
		h.drain()
		if diff := cmp.Diff(health.Summary{On: want.On}, h.health(h.survey)); diff != "" {
			h.t.Error(diff)
		}
	})
}

// What waits for a person is counted once: a message in doubt with the messages, and a link
// that a person has put on hold with the links.
func TestHealthCountsLinksInDoubtAndOnHold(t *testing.T) {
	t.Parallel()
	eachHost(t, &survey.Options{InDoubt: notify.Hold}, func(h *host) {
		h.fails(channel.Unknown("", io.EOF))
		id := h.linked(csiGR)
		h.drain()
		if diff := cmp.Diff(health.Summary{On: start}, h.health(h.survey)); diff != "" {
			h.t.Error(diff)
		}
		got, err := h.out.Health(h.t.Context(), storage.Within(""))
		want := []health.Count{{Table: "outgoing_message", Reason: reasons.OutcomeUnknown, Rows: 1, OldestOn: start}}
		if diff := cmp.Diff(want, got.Holds); diff != "" || err != nil {
			h.t.Error(diff, err)
		}
		h.must(h.survey.Support().Release, id)
		h.must(h.survey.Support().Hold, id)
		want = []health.Count{{Table: "survey_instance", Reason: reasons.HeldBySupport, Rows: 1, OldestOn: start}}
		if diff := cmp.Diff(want, h.health(h.survey).Holds); diff != "" {
			h.t.Error(diff)
		}
	})
}

func TestHealthCountsResponsesThatNobodyTook(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "crm")
		e.fail = func(string) error { return survey.Permanent(errors.New("refused")) }
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", content)
		h.drain()
		if diff := cmp.Diff([]health.Count{{Table: "outbox_delivery", Kind: "survey/crm", Rows: 1}}, h.health(h.survey).DeadLetters); diff != "" {
			h.t.Error(diff)
		}
		out, err := notify.New(h.store, nil).Health(h.t.Context(), storage.Everywhere())
		if err != nil || len(out.DeadLetters) != 0 {
			h.t.Error("they are none of notify's:", out, err)
		}
	})
}
