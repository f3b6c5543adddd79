package survey_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
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
			if i := h.status(id, survey.StatusExpired); i.ReasonCode != reasons.TooLate {
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
