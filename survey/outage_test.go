package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// revoked is what a channel says whose credentials are refused.
var revoked = channel.Transient("401", 0, errors.New("invalid key")).Blame(channel.FaultAccount)

// links publishes a survey that is sent at once, makes so many links, and returns their
// public ids.
func (h *host) links(n int) (ids []string) {
	h.t.Helper()
	h.publish(definition("0d", nil))
	var visits []string
	for i := range n {
		visits = append(visits, fmt.Sprintf(`{"wip":"%d"}`, i))
	}
	for _, it := range h.ingest(visits...).Items {
		ids = append(ids, it.Instances[0].PublicID)
	}
	return ids
}

// tries counts what failed of these links.
func (h *host) tries(ids []string) (sum int) {
	h.t.Helper()
	for _, id := range ids {
		sum += h.explain(id).Instance.Tries
	}
	return sum
}

func (h *host) outages() []notify.Outage {
	h.t.Helper()
	out, err := notify.New(h.store, nil).Support().Outages(h.t.Context(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// A channel that refuses everything is probed by one link after another, at a growing
// distance; no try is counted but that of the first, and the link that gets through
// ends it.
func TestLinksWaitWhileTheirChannelIsOut(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(revoked)
		ids := h.links(5)
		h.drain()
		first := len(h.sent()) // those that were under way
		if n := h.tries(ids); n != 1 {
			h.t.Errorf("%d tries were counted, want that of the first", n)
		}
		want := notify.Outage{Everywhere: true, Channel: "memory:default", Class: channel.ClassTransient, Code: "401", Since: start, ProbeOn: start.Add(time.Second)}
		if out := h.outages(); len(out) != 1 || out[0] != want {
			h.t.Errorf("outages are %+v", out)
		}
		for probes, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60} {
			h.clock.Add(wait*time.Second - time.Millisecond)
			h.drain()
			if n := len(h.sent()) - first; n != probes {
				h.t.Fatalf("%d probes before the one after %vs", n, wait)
			}
			h.clock.Add(time.Millisecond)
			h.drain()
			if n := len(h.sent()) - first; n != probes+1 {
				h.t.Fatalf("%d probes with the one after %vs", n, wait)
			}
		}
		h.fails(nil)
		for range 3 {
			h.clock.Add(10 * time.Minute)
			h.drain()
		}
		for _, id := range ids {
			if i := h.status(id, survey.StatusSent); i.Tries != 0 || i.ReasonCode != "" {
				h.t.Errorf("the link is %+v", i)
			}
		}
		if out := h.outages(); len(out) != 0 {
			h.t.Errorf("still out: %+v", out)
		}
	})
}

// Health shows the outage; with it a poller of both shows it once.
func TestHealthShowsThatLinksWaitForAChannel(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(revoked)
		h.links(2)
		h.drain()
		h.clock.Add(time.Hour)
		want := []health.Outage{{Everywhere: true, Channel: "memory:default", Class: "Transient", Code: "401", Since: start}}
		got, err := h.survey.Health(h.t.Context(), storage.Within("any"))
		if diff := cmp.Diff(want, got.Outages); diff != "" || err != nil {
			h.t.Error(diff, err)
		}
		both := belfry.NewPoller(h.store, nil, notify.New(h.store, nil), h.survey)
		got, err = both.Health(h.t.Context(), storage.Everywhere())
		if diff := cmp.Diff(want, got.Outages); diff != "" || err != nil {
			h.t.Error(diff, err)
		}
	})
}

// Messages and links that share a channel share its outage, and its probe.
func TestAnOutageOfAChannelBindsMessagesAndLinks(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		mails := notify.New(h.store, nil, h.memory())
		message := func(name string) {
			_, err := mails.EnsureOutgoingMessage(h.t.Context(), nil, notify.OutgoingMessage{
				Channel: "memory:default", PartitionKey: "code", NotificationType: "code", RecipientRef: name, Address: "+9647700000002",
				Content: notify.Content{Text: "message " + name},
			})
			if err != nil {
				h.t.Fatal(err)
			}
		}
		turns := []*belfry.Poller{belfry.NewPoller(h.store, nil, mails, h.survey), belfry.NewPoller(h.store, nil, h.survey, mails)}
		drain := func() {
			if err := turns[0].Drain(h.t.Context()); err != nil {
				h.t.Fatal(err)
			}
			turns[0], turns[1] = turns[1], turns[0]
		}
		h.fails(revoked)
		message("a")
		drain()
		began := len(h.sent())
		h.clock.Add(time.Millisecond)
		ids := h.links(3)
		drain()
		if n := len(h.sent()); n != began || h.tries(ids) != 0 {
			h.t.Errorf("%d calls of links through a channel that is out, %d tries", n-began, h.tries(ids))
		}
		for range 20 { // the message and the links take turns
			h.clock.Add(2 * time.Minute)
			before := len(h.sent())
			drain()
			if n := len(h.sent()) - before; n != 1 {
				h.t.Fatalf("%d probes at once", n)
			}
		}
		links := 0
		for _, m := range h.sent()[began:] {
			if !strings.HasPrefix(m.Text, "message") {
				links++
			}
		}
		if links != 10 || h.tries(ids) != 0 {
			h.t.Errorf("%d links were probes; %d tries", links, h.tries(ids))
		}
		h.fails(nil)
		for range 3 {
			h.clock.Add(10 * time.Minute)
			drain()
		}
		for _, id := range ids {
			h.status(id, survey.StatusSent)
		}
		h.fails(revoked)
		h.clock.Add(time.Minute)
		more := h.ingest(`{"wip":"again"}`).Items[0].Instances[0].PublicID
		drain()
		began = len(h.sent())
		message("b")
		drain()
		if n := len(h.sent()); n != began {
			h.t.Errorf("%d calls of messages through a channel that a link has found out", n-began)
		}
		h.fails(nil)
		for range 3 {
			h.clock.Add(10 * time.Minute)
			drain()
		}
		h.status(more, survey.StatusSent)
		if out := h.outages(); len(out) != 0 || !slices.ContainsFunc(h.sent()[began:], func(m channel.Message) bool { return m.Text == "message b" }) {
			h.t.Errorf("still out: %+v", out)
		}
	})
}

// A link whose time is over is not sent, whatever held it up, and expires meanwhile.
func TestALinkIsNotSentAfterItsEndThoughItsChannelComesBack(t *testing.T) {
	eachHost(t, &survey.Options{ExpiryGrace: time.Hour}, func(h *host) {
		h.fails(revoked)
		ids := h.links(3)
		h.drain()
		for range 80 {
			h.clock.Add(time.Minute)
			h.drain()
		}
		for _, id := range ids {
			if i := h.status(id, survey.StatusExpired); i.ReasonCode != survey.ReasonTooLate {
				h.t.Errorf("the link is %+v", i)
			}
		}
		h.fails(nil)
		calls := len(h.sent())
		for range 3 {
			h.clock.Add(10 * time.Minute)
			h.drain()
		}
		if n := len(h.sent()); n != calls {
			h.t.Errorf("%d links were sent after their end", n-calls)
		}
	})
}

// After the last try a link waits for a person if its channel was at fault, though the
// customer shows the form meanwhile.
func TestALinkThatTheChannelRefusedInTheEndIsHeld(t *testing.T) {
	for name, opened := range map[string]bool{"alone": false, "opened meanwhile": true} {
		t.Run(name, func(t *testing.T) { refusedInTheEnd(t, opened) })
	}
}

func refusedInTheEnd(t *testing.T, opened bool) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Metadata["customerRef"] != "cust-123" {
				return h.send(ctx, m)
			}
			h.another(m.Attempt) // which the channel takes
			if m.Attempt == 6 && opened {
				if err := h.survey.Opened(ctx, tokenOf(linkIn(m))); err != nil {
					h.t.Error(err)
				}
			}
			return channel.Receipt{}, revoked
		}))
		id := h.links(1)[0]
		for range 8 {
			h.drain()
			if on := h.explain(id).NextSendOn; !on.IsZero() {
				h.clock.Set(on)
			}
		}
		i := h.explain(id).Instance
		if !i.IsOnSupportHold || i.ReasonCode != "401" || i.Tries != 6 || i.Calls != 6 || i.NextSendOn.IsZero() {
			h.t.Errorf("the link is %+v", i)
		}
		h.clock.Add(40 * day)
		if err := h.survey.Support().Release(h.t.Context(), "", id, someone); err != nil {
			h.t.Error(err)
		}
		h.drain()
		if i := h.status(id, survey.StatusExpired); i.Calls != 6 {
			h.t.Errorf("sent after its end: %+v", i)
		}
	})
}

// another sends a link to somebody else.
func (h *host) another(n int) {
	_, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload:   json.RawMessage(fmt.Sprintf(`{"wip":"other %d"}`, n)),
		Recipient: survey.Recipient{Address: "+964 770 000 0003", CustomerRef: "another"},
	}}})
	if err != nil {
		h.t.Error(err)
	}
	if _, err := h.survey.Passes()[1].Runner(work.Options{Logger: quiet()}).Poll(h.t.Context(), 10); err != nil {
		h.t.Error(err)
	}
}
