package notify_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
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

// Who left two providers, or two lists of one, and comes back to one of them has left the
// other.
func TestAReturnToOneListLeavesTheOthers(t *testing.T) {
	type word struct {
		kind     channel.StatusKind
		provider string
		list     string
		minute   int
	}
	const left, back = channel.KindUnsubscribed, channel.KindResubscribed
	for name, c := range map[string]struct {
		words []word
		want  []string
	}{
		"two providers":                       {[]word{{left, "test", "", 1}, {left, "other", "", 2}, {back, "test", "", 3}}, []string{"Unsubscribe other"}},
		"two providers, the first to be left": {[]word{{left, "other", "", 1}, {left, "test", "", 2}, {back, "test", "", 3}}, []string{"Unsubscribe other"}},
		"both":                                {[]word{{left, "test", "", 1}, {left, "other", "", 2}, {back, "test", "", 3}, {back, "other", "", 4}}, nil},
		"a return elsewhere that was later":   {[]word{{back, "test", "", 3}, {left, "other", "", 2}}, []string{"Unsubscribe other"}},
		"a return that was later":             {[]word{{back, "test", "", 3}, {left, "test", "", 2}}, nil},
		"a return that comes late":            {[]word{{left, "test", "", 1}, {left, "test", "", 3}, {back, "test", "", 2}}, []string{"Unsubscribe test"}},
		"two lists":                           {[]word{{left, "test", "a", 1}, {left, "test", "b", 2}, {back, "test", "a", 3}}, []string{"Unsubscribe test"}},
		"two lists, and both":                 {[]word{{left, "test", "a", 1}, {left, "test", "b", 2}, {back, "test", "a", 3}, {back, "test", "b", 4}}, nil},
		"all, and then a list":                {[]word{{left, "test", "", 1}, {back, "test", "a", 3}}, []string{"Unsubscribe test"}},
		"twice":                               {[]word{{left, "test", "", 1}, {back, "test", "", 2}, {left, "test", "", 3}}, []string{"Unsubscribe test"}},
		"an older return":                     {[]word{{left, "test", "", 2}, {back, "test", "", 1}}, []string{"Unsubscribe test"}},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.chained(carrier{&provider{}, "email:other"})
				m := h.accepted()
				began := h.clk.Now()
				h.clk.Add(time.Hour)
				for i, w := range c.words {
					e := about(m, w.kind)
					e.Provider, e.EventID, e.List, e.On = w.provider, fmt.Sprint(i), w.list, began.Add(time.Duration(w.minute)*time.Minute)
					h.same("report", notify.TrackReport{Applied: 1}, h.track(e))
				}
				h.same("suppressed", c.want, h.suppressions("tenant"))
			})
		})
	}
}

// START to the account that tenants share says nothing about what a tenant's own account was
// told, and the other way round. However many tenants share it, all of them hear of it.
func TestAReturnCountsForTheAccountThatItCameTo(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		accounts := own{"a": &provider{}, "b": &provider{}}
		stop := failing(channel.Permanent("21610", nil).Suppressing(channel.Unsubscribe))
		h.answer, accounts["a"].(*provider).answer, accounts["b"].(*provider).answer = stop, stop, stop
		h.with(&notify.Options{Channels: accounts}, h.provider)
		for _, scope := range []notify.Scope{"a", "b", "c", "d"} {
			h.ensure(letter("to "+string(scope), "sam", in(scope)))
		}
		h.drain()
		stopped := func() (out []notify.Scope) {
			for _, scope := range []notify.Scope{"a", "b", "c", "d"} {
				if len(h.suppressions(scope)) > 0 {
					out = append(out, scope)
				}
			}
			return out
		}
		h.same("stopped", []notify.Scope{"a", "b", "c", "d"}, stopped())
		h.clk.Add(time.Minute)
		back := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindResubscribed, Method: "email", Address: "sam@example.com", On: h.clk.Now()}
		ofB := back
		ofB.EventID, ofB.Account = "2", "b"
		h.same("report", notify.TrackReport{Applied: 1}, h.track(back))
		h.same("stopped", []notify.Scope{"a", "b"}, stopped())
		h.same("report", notify.TrackReport{Applied: 1}, h.track(ofB))
		h.same("stopped", []notify.Scope{"a"}, stopped())
	})
}

// All tenants that share the account hear of it, however many they are.
func TestAReturnIsHeardByAllTenants(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(channel.Permanent("21610", nil).Suppressing(channel.Unsubscribe))
		h.ensure(letter("a", "sam"), letter("b", "kim"))
		h.drain()
		more := slices.Repeat(all(h, notify.Suppressions), 600)
		h.inOne(func(tx storage.Tx) error {
			for i := range more {
				row := *more[i]
				row.ID, row.Version, row.Scope = 0, 0, notify.Scope(fmt.Sprint("tenant ", i))
				more[i] = &row
			}
			_, err := notify.Suppressions.Insert(t.Context(), tx, more...)
			return err
		})
		h.clk.Add(time.Minute)
		var events []channel.StatusEvent
		for _, name := range []string{"sam", "kim"} {
			events = append(events, channel.StatusEvent{
				Provider: "test", EventID: name, Kind: channel.KindResubscribed, Method: "email", Address: channel.PrivateAddress(name + "@example.com"), On: h.clk.Now(),
			})
		}
		h.same("report", notify.TrackReport{Applied: 2}, h.track(events...))
		still := 0
		for _, s := range all(h, notify.Suppressions) {
			if s.Status == "Active" {
				still++
			}
		}
		h.same("still suppressed", 0, still)
	})
}

// A text that takes STOP back names a number and no message.
func TestANumberThatComesBackGetsTextsAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, ReportedBy: map[string]string{"sms:test": "test"}}, h.sms())
		sms := func(m *notify.OutgoingMessage) { m.Channel, m.Address = "sms:test", "+4915112345678" }
		h.answer = failing(channel.Permanent("21610", nil).Suppressing(channel.Unsubscribe))
		h.ensure(letter("a", "sam", sms))
		h.drain()
		h.same("suppressed", []string{"Unsubscribe test"}, h.suppressions("tenant"))
		h.clk.Add(time.Minute)
		back := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindResubscribed, Method: "sms", Address: "+49 151 12345678", On: h.clk.Now()}
		h.same("report", notify.TrackReport{Applied: 1}, h.track(back))
		h.same("report", notify.TrackReport{Repeated: 1}, h.track(back))
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
		odd := back
		odd.EventID, odd.Address = "2", "no number"
		said := hook(func(channel.WebhookRequest) ([]channel.StatusEvent, error) {
			return []channel.StatusEvent{back, odd}, nil
		})
		rep, err := h.Receive(t.Context(), "", said, channel.WebhookRequest{})
		if err != nil {
			t.Error(err)
		}
		h.same("report", notify.TrackReport{Repeated: 1, Refused: 1}, rep)
	})
}
