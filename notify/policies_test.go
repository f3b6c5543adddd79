package notify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
)

// The whole way: a backlog leaves at the rate, and none of it is lost.
func TestABacklogLeavesAtTheRate(t *testing.T) {
	gated(t, with(gate.Options{Rates: []gate.Rate{{Channel: channelKey, Limit: 4, Per: time.Second, Burst: 4}}}), func(t *testing.T, h *host) {
		for i := range 40 {
			h.ensure(letter(fmt.Sprint(i), fmt.Sprint("r", i)))
		}
		poll := h.distributor()
		for second := range 12 {
			for poll() > 0 {
				h.t.Helper()
			}
			if n, most := len(h.sent()), 4+4*second; n > most {
				t.Fatalf("%d calls after %d seconds", n, second)
			}
			h.clk.Add(time.Second)
		}
		h.same("sent", 40, len(h.texts()))
	})
}

func TestACapCountsOverAllProducersAndLetsTheRestWait(t *testing.T) {
	gated(t, with(gate.Options{Caps: []gate.Cap{{Limit: 2, Per: 24 * time.Hour}}}), func(t *testing.T, h *host) {
		survey := gate.New(h.store, &gate.Options{Caps: []gate.Cap{{Limit: 2, Per: 24 * time.Hour}}})
		h.same("a survey", []string{""}, h.answersOf(survey[len(survey)-1], attemptOf("of a survey", "sam", h.clk.Now())))
		h.clk.Add(time.Hour)
		h.ensure(letter("a", "sam"))
		h.drain()
		h.clk.Add(time.Hour)
		h.ensure(letter("b", "sam"), letter("c", "kim"), letter("d", "sam", func(m *notify.OutgoingMessage) { m.Scope = "another" }))
		h.drain()
		h.same("sent", map[string]int{"a": 1, "c": 1, "d": 1}, h.texts())
		m := h.row("b")
		if want := h.clk.Now().Add(22 * time.Hour); m.ReasonCode != notify.ReasonFrequencyCap || !m.DueOn.Equal(want) {
			t.Fatalf("message waits until %v for %s, want %v", m.DueOn, m.ReasonCode, want)
		}
		h.clk.Set(m.DueOn)
		h.drain()
		h.same("sent", map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}, h.texts())
	})
}

func TestOnlyWhoIsAllowedGetsAnythingAndTheRestIsRedirectedOrSkipped(t *testing.T) {
	guard := &gate.Guard{Allow: []string{"@Example.COM", "ann@else.where", "+4915112345678"}, Redirect: map[string]string{"email": "qa@Inside.example"}}
	gated(t, with(gate.Options{Guard: guard}), func(t *testing.T, h *host) {
		to := func(address string) func(*notify.OutgoingMessage) {
			return func(m *notify.OutgoingMessage) { m.Address = address }
		}
		h.ensure(letter("domain", "sam"), letter("address", "ann", to("Ann@else.where")), letter("elsewhere", "eve", to("eve@else.where")),
			letter("subdomain", "kim", to("kim@a.example.com")), letter("lookalike", "kim", to("kim@notexample.com")))
		h.drain()
		got := map[string]string{}
		for _, m := range h.sent() {
			got[m.Text] = m.To
		}
		const qa = "qa@inside.example"
		h.same("went to", map[string]string{"domain": "sam@example.com", "address": "Ann@else.where", "elsewhere": qa, "subdomain": qa, "lookalike": qa}, got)
		h.same("stored", "eve@else.where", h.row("elsewhere").Address)

		guarding := func(g *gate.Guard) notify.Gate {
			return gate.New(h.store, &gate.Options{Guard: g})[1]
		}
		sms := attemptOf("id", "eve", h.clk.Now())
		sms.Method, sms.Address = "sms", "+4915187654321"
		allowed := sms
		allowed.Address = "+4915112345678"
		h.same("by another method", []string{"Skip " + notify.ReasonNotAllowed, ""}, h.answersOf(guarding(guard), sms, allowed))
		h.same("nobody is allowed", []string{"Skip " + notify.ReasonNotAllowed}, h.answersOf(guarding(&gate.Guard{}), sms))
	})
}

// Those that waited do not come all at once, each comes at the same moment however
// often it is asked about, and all of them when the window is open.
func TestWhatWaitedForTheWindowIsSpread(t *testing.T) {
	gated(t, with(gate.Options{Window: &gate.Window{From: "10:00", To: "10:20", Spread: time.Hour}}), func(t *testing.T, h *host) {
		for i := range 20 {
			h.ensure(letter(string(rune('a'+i)), "sam"))
		}
		h.drain()
		moments := map[time.Time]bool{}
		opens := h.clk.Now().Add(2 * time.Hour)
		for _, m := range all(h, notify.Messages) {
			moments[m.DueOn] = true
			if m.DueOn.Before(opens) || m.DueOn.After(opens.Add(20*time.Minute)) {
				t.Errorf("due %v", m.DueOn)
			}
		}
		if len(moments) < 15 {
			t.Errorf("%d moments", len(moments))
		}
		h.clk.Set(opens.Add(20*time.Minute - time.Microsecond))
		h.drain()
		h.same("sent", 20, len(h.texts()))
	})
}
