package notify_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// Who comes back to a provider gets mail again, and the host hears of it; a bounce or a
// complaint stays, and so does what another provider or a person said.
func TestWhoComesBackToAProviderGetsMailAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var heard []notify.ChangeKind
		h.Subscribe(notify.StatusFunc("host", func(_ context.Context, c notify.StatusChange) error {
			heard = append(heard, c.Kind)
			return nil
		}))
		h.run("notify.status")
		m := h.accepted()
		at := func(k channel.StatusKind, minute int) channel.StatusEvent {
			e := about(m, k)
			e.EventID, e.On = e.EventID+h.clk.Now().String(), h.clk.Now().Add(time.Duration(minute)*time.Minute)
			return e
		}
		h.clk.Add(time.Hour)
		h.track(at(channel.KindUnsubscribed, -30), at(channel.KindComplained, -20))
		h.same("suppressed", []string{"Complaint test", "Unsubscribe test"}, h.suppressions("tenant"))
		h.track(at(channel.KindResubscribed, -10))
		h.same("suppressed", []string{"Complaint test"}, h.suppressions("tenant"))
		h.run("notify.status")
		if !slices.Contains(heard, notify.ChangeResubscribed) {
			t.Errorf("the host heard %v", heard)
		}
		facts, err := h.Support().DeliveryFacts(t.Context(), "tenant", m.MessageID)
		if err != nil || len(facts) != 3 {
			t.Errorf("facts are %+v, %v", facts, err)
		}
		h.clk.Add(time.Hour)
		h.track(at(channel.KindUnsubscribed, 0)) // leaves again
		h.same("suppressed", []string{"Complaint test", "Unsubscribe test"}, h.suppressions("tenant"))
	})
}

// Callbacks come in any order: what somebody said before they came back counts no more.
func TestAnOldUnsubscriptionThatComesLateDoesNotCount(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		h.clk.Add(time.Hour)
		left, back := about(m, channel.KindUnsubscribed), about(m, channel.KindResubscribed)
		left.On, back.On = h.clk.Now().Add(-2*time.Minute), h.clk.Now().Add(-time.Minute)
		h.track(back)
		h.track(left)
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

// Another provider's word, and a person's, stay.
func TestAReturnLiftsOnlyWhatItsProviderSaid(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.Unsubscribe, support, notify.Destination{Method: "email", Address: "sam@example.com"}); err != nil {
			t.Fatal(err)
		}
		back := about(m, channel.KindResubscribed)
		h.clk.Add(time.Hour)
		back.On = h.clk.Now()
		h.track(back)
		h.same("suppressed", []string{"Unsubscribe Support"}, h.suppressions("tenant"))
	})
}

// A text that takes STOP back names a number and no message.
func TestANumberThatComesBackGetsTextsAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, ReportedBy: map[string]string{"sms:test": "test"}}, h.sms())
		sms := func(m *notify.OutgoingMessage) { m.Channel, m.Address = "sms:test", "+4915112345678" }
		h.answer = failing(channel.Permanent("21610", nil).Suppressing(channel.Unsubscribe))
		h.ensure(letter("a", "sam", sms), letter("b", "sam", sms, in("north")))
		h.drain()
		h.same("suppressed", []string{"Unsubscribe test"}, h.suppressions("tenant"))
		h.clk.Add(time.Minute)
		back := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindResubscribed, Method: "sms", Address: "+49 151 12345678", On: h.clk.Now()}
		own := back
		own.Account, own.EventID = "north", "2"
		h.same("report", notify.TrackReport{Applied: 1}, h.track(own))
		h.same("suppressed", []string{"Unsubscribe test"}, h.suppressions("tenant"))
		h.same("suppressed in north", []string(nil), h.suppressions("north"))
		h.same("report", notify.TrackReport{Applied: 1}, h.track(back))
		h.same("report", notify.TrackReport{Repeated: 1}, h.track(back))
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}
