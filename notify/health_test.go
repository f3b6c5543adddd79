package notify_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func (h *host) health(reach storage.ScopeFilter) health.Summary {
	h.t.Helper()
	got, err := h.Health(h.t.Context(), reach)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// What waits shows in each table that it comes through, and who does not serve it
// sees that.
func TestHealthFollowsAMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		due := func(table, kind string, served bool) []health.Due {
			return []health.Due{{Table: table, Kind: kind, Rows: 1, OldestOn: storetest.Start, Served: served}}
		}
		h.dispatch(visit("7", person("sam")))
		h.clk.Add(time.Minute)
		h.same("a schedule", due("notification_scheduler", "visit", true), h.health(storage.Within("tenant")).Due)
		h.same("served by others", due("notification_scheduler", "visit", false), h.unaware().health(storage.Within("tenant")).Due)
		h.run("notify.scheduler")
		h.same("a job", "notification_job visit", what(h.health(storage.Everywhere()).Due))
		h.run("notify.generator")
		h.same("a message", "outgoing_message "+channelKey, what(h.health(storage.Everywhere()).Due))
		h.same("of another tenant", 0, len(h.health(storage.Within("other")).Due))
		h.same("served by others", false, h.unaware().health(storage.Everywhere()).Due[0].Served)
		h.run("notify.distributor")
		h.same("nothing", health.Summary{On: storetest.Start.Add(time.Minute), Scope: "tenant"}, h.health(storage.Within("tenant")))
	})
}

// unaware is a process that knows neither the type nor the channel.
func (h *host) unaware() *host { return newHost(h.t, h.store, h.clk, h.provider) }

func what(due []health.Due) string {
	var out []string
	for _, d := range due {
		out = append(out, d.Table+" "+d.Kind)
	}
	return strings.Join(out, ", ")
}

// A message in doubt is counted while it waits for a look-up, and when it waits for a
// person, whose hold it is too.
func TestHealthCountsDoubtsAndHolds(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing("", h.provider)
		h.run("notify.distributor")
		doubts := []health.Count{{Table: "outgoing_message", Kind: channelKey, Rows: 1}}
		got := h.health(storage.Everywhere())
		if diff := cmp.Diff(doubts, got.Doubts); diff != "" || len(got.Holds) != 0 {
			t.Error(diff, got)
		}
		h.drain()
		got = h.health(storage.Within("tenant"))
		holds := []health.Count{{Table: "outgoing_message", Reason: reasons.OutcomeUnknown, Rows: 1, OldestOn: all(h, notify.Messages)[0].CreatedOn}}
		if diff := cmp.Diff([][]health.Count{doubts, holds}, [][]health.Count{got.Doubts, got.Holds}); diff != "" {
			t.Error(diff)
		}
		if got := h.health(storage.Within("other")); len(got.Doubts)+len(got.Holds) != 0 {
			t.Error("another tenant's", got)
		}
	})
}

func TestHealthCountsDeadLetters(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		h.answer = failing(channel.Permanent("550", nil))
		h.dispatch(visit("7", person("sam")))
		c.fail = permanent.Mark(errors.New("sam@example.com is unknown"))
		h.drain()
		got := h.health(storage.Within("tenant"))
		if diff := cmp.Diff([]health.Count{{Table: "outbox_delivery", Kind: "crm", Rows: 1}}, got.DeadLetters); diff != "" {
			h.t.Error(diff)
		}
		if strings.Contains(got.String(), "sam") {
			h.t.Error(got)
		}
		if got := h.health(storage.Within("other")); len(got.DeadLetters) != 0 {
			h.t.Error("another tenant's", got)
		}
	})
}

func TestHealthListsPauses(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		until := storetest.Start.Add(time.Hour)
		for _, e := range []notify.Extent{{Scope: "tenant", Type: "visit"}, {Everywhere: true, Channel: channelKey}} {
			if err := h.Support().Pause(t.Context(), e, until, sam); err != nil {
				t.Fatal(err)
			}
		}
		here := health.Pause{Table: "notification_pause", Scope: "tenant", Kind: "visit", Since: storetest.Start, Until: until}
		all := health.Pause{Table: "notification_pause", Everywhere: true, Kind: channelKey, Since: storetest.Start, Until: until}
		h.same("here", []health.Pause{here, all}, h.health(storage.Within("tenant")).Pauses)
		h.same("elsewhere", []health.Pause{all}, h.health(storage.Within("other")).Pauses)
		h.clk.Add(time.Hour)
		h.same("over", 0, len(h.health(storage.Everywhere()).Pauses))
	})
}

// I-29: an error says what failed, not whose it is.
func TestI29_AnErrorOfHealthNamesNobody(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		_, err := h.Health(t.Context(), storage.Within("sam@example.com\x00"))
		refused := (*storage.ValueError)(nil)
		if !errors.As(err, &refused) || strings.Contains(err.Error(), "sam") {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Health(ctx, storage.Within("sam@example.com")); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "sam") {
			t.Error(err)
		}
	})
}
