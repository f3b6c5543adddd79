package notify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

// readOnly refuses to write.
func readOnly(c storetest.Call) error {
	if (c.Verb == storetest.Insert || c.Verb == storetest.Update) && len(c.Rows) > 0 {
		return errors.New("an " + c.Verb + " of " + c.Table)
	}
	return nil
}

func TestADryRunSaysWhoWouldGetWhatAndWritesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, inner storage.Store, clk *clock.Mock) {
		store := &storetest.Spy{Store: inner}
		h := newGated(t, store, clk, &notify.Options{Gates: gate.New(store, &gate.Options{
			Guard:  &gate.Guard{Allow: []string{"@example.com"}, Redirect: map[string]string{"sms": "+4915112345678"}},
			Caps:   []gate.Cap{{Limit: 2, Per: time.Hour}},
			Window: &gate.Window{From: "07:00", To: "20:00"},
			Rates:  []gate.Rate{{Channel: channelKey, Limit: 4, Per: time.Hour, Burst: 4}},
		})})
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "out", OptedOut: true})
		h.pause(notify.Extent{Scope: "tenant", Type: "paused"})
		h.ensure(letter("sent", "sam"))
		h.drain()
		h.ensure(letter("waiting", "kim"))
		want := []notify.OutgoingMessage{
			letter("sent", "sam"), letter("waiting", "kim"),
			letter("elsewhere", "eve", func(m *notify.OutgoingMessage) { m.Address = "eve@else.where" }),
			letter("redirected", "eve", func(m *notify.OutgoingMessage) { m.Type, m.Address = "sms:test", "+4915187654321" }),
			letter("paused", "eve", func(m *notify.OutgoingMessage) { m.NotificationType = "paused" }),
			letter("out", "out"), letter("second", "sam"), letter("third", "sam"),
			letter("asleep", "ann", func(m *notify.OutgoingMessage) { m.Zone = "Pacific/Auckland" }),
			letter("fourth", "uma"), letter("fifth", "ida"),
		}
		store.SetHook(readOnly)
		for range 2 {
			got, err := h.DryRun(t.Context(), want...)
			if err != nil {
				t.Fatal(err)
			}
			reasons := map[string]string{}
			for _, f := range got {
				reasons[f.Message.Content.Text] = string(f.Verdict.Action) + f.Verdict.Reason + f.Verdict.To
			}
			h.same("forecast", map[string]string{
				"sent": "SkipExists", "waiting": "", "elsewhere": "SkipNotAllowed", "redirected": "+4915112345678", "paused": "DeferPaused",
				"out": "SkipOptedOut", "second": "", "third": "DeferFrequencyCap", "asleep": "DeferQuietHours", "fourth": "", "fifth": "DeferRateLimit",
			}, reasons)
		}
		store.SetHook(nil)
		h.same("messages", 2, len(all(h, notify.Messages)))
		h.same("reservations", 1, h.rows("rate_reservation"))
		h.drain()
		h.same("sent", map[string]int{"sent": 1, "waiting": 1}, h.texts())
	})
}

func TestADryRunTellsOfWhatEveryClaimHeeds(t *testing.T) {
	visits(t, func(t *testing.T, h *host) { // no gates
		h.pause(notify.Extent{Everywhere: true, Channel: channelKey})
		got, err := h.DryRun(t.Context(), letter("a", "sam"))
		if err != nil || len(got) != 1 || got[0].Verdict.Reason != notify.ReasonPaused {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := h.DryRun(t.Context(), letter("a", "sam"), notify.OutgoingMessage{}); err == nil {
			t.Error("a message that could not be ensured has a forecast")
		}
	})
}

func TestAGateThatFailsFailsTheDryRun(t *testing.T) {
	gatedInMemory(t, oneGate(silentGate{}), func(h *host) {
		if _, err := h.DryRun(h.t.Context(), letter("a", "sam")); err == nil {
			h.t.Error("no error")
		}
	})
}
