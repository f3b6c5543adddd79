package notify

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestACapCountsOverAllProducersAndLetsTheRestWait(t *testing.T) {
	gated(t, with(GateOptions{Caps: []FrequencyCap{{Limit: 2, Per: 24 * time.Hour}}}), func(t *testing.T, h *host) {
		survey := Gates(h.store, &GateOptions{Caps: []FrequencyCap{{Limit: 2, Per: 24 * time.Hour}}})
		h.same("a survey", []string{""}, h.answersOf(survey[len(survey)-1], attemptOf("of a survey", "sam", h.clk.Now())))
		h.clk.Add(time.Hour)
		h.ensure(letter("a", "sam"))
		h.drain()
		h.clk.Add(time.Hour)
		h.ensure(letter("b", "sam"), letter("c", "kim"), letter("d", "sam", func(m *OutgoingMessage) { m.Scope = "another" }))
		h.drain()
		h.same("sent", map[string]int{"a": 1, "c": 1, "d": 1}, h.texts())
		m := h.row("b")
		if want := h.clk.Now().Add(22 * time.Hour); m.ReasonCode != ReasonFrequencyCap || !m.DueOn.Equal(want) {
			t.Fatalf("message waits until %v for %s, want %v", m.DueOn, m.ReasonCode, want)
		}
		h.clk.Set(m.DueOn)
		h.drain()
		h.same("sent", map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}, h.texts())
	})
}

func TestAMandatoryMessagePassesTheCapUncounted(t *testing.T) {
	gated(t, with(GateOptions{Caps: []FrequencyCap{{Limit: 1, Per: time.Hour, Skip: true}}}), func(t *testing.T, h *host) {
		g := h.gates[len(h.gates)-1]
		reset := attemptOf("reset", "sam", h.clk.Now())
		reset.Mandatory = true
		h.same("in one group", []string{"", "", "Skip " + ReasonFrequencyCap}, h.answersOf(g, reset, attemptOf("a", "sam", h.clk.Now()), attemptOf("b", "sam", h.clk.Now())))
		h.same("behind it", []string{"", ""}, h.answersOf(g, reset, attemptOf("a", "sam", h.clk.Now())))
	})
}

// A message that was let through and did not go out yet counts once, at the time at
// which it was let through last.
func TestAMessageCountsOnceInACap(t *testing.T) {
	gated(t, with(GateOptions{Caps: []FrequencyCap{{Limit: 1, Per: 24 * time.Hour}}}), func(t *testing.T, h *host) {
		g, start := h.gates[len(h.gates)-1], h.clk.Now()
		for _, at := range []time.Duration{0, time.Minute, 10 * time.Hour} {
			h.same("again", []string{""}, h.answersOf(g, attemptOf("a", "sam", start.Add(at))))
		}
		over, err := g.Ask(t.Context(), []Attempt{attemptOf("b", "sam", start.Add(11*time.Hour))})
		if err != nil || !over[0].Until.Equal(start.Add(34*time.Hour)) {
			t.Errorf("another: %+v, %v", over, err)
		}
		r := only(h, frequencies)
		h.same("counted", []counted{{"a", start.Add(10 * time.Hour)}}, r.Messages)
		h.answersOf(g, attemptOf("c", "sam", start.Add(100*time.Hour)))
		h.same("what is old is forgotten", 1, len(only(h, frequencies).Messages))
	})
}

// All caps hold: the latest moment counts.
func TestAllCapsHold(t *testing.T) {
	t.Parallel()
	caps := []FrequencyCap{{Limit: 1, Per: time.Hour}, {Limit: 3, Per: 24 * time.Hour}}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var r frequencyRow
	for i := range 3 {
		if _, over := r.count(caps, fmt.Sprint(i), now.Add(time.Duration(i)*2*time.Hour)); over != nil {
			t.Fatalf("message %d: %+v", i, over)
		}
	}
	next, over := r.count(caps, "4", now.Add(5*time.Hour-time.Minute))
	if over == nil || over.Limit != 3 || !next.Equal(now.Add(24*time.Hour)) {
		t.Errorf("until %v for %+v", next, over)
	}
}

// Two processes ask at once, about the same recipients for the first time.
func TestTwoProcessesShareACap(t *testing.T) {
	gated(t, with(GateOptions{}), func(t *testing.T, h *host) {
		caps := []FrequencyCap{{Limit: 3, Per: time.Hour}}
		var mu sync.Mutex
		through := map[string]int{}
		var wg sync.WaitGroup
		for p := range 2 {
			g := newFrequencyGate(h.store, caps)
			for n := range 4 {
				wg.Go(func() {
					attempts := []Attempt{}
					for _, who := range []string{"sam", "kim", "ann"} {
						attempts = append(attempts, attemptOf(fmt.Sprint(p, n, who), who, h.clk.Now()))
					}
					verdicts, err := g.Ask(t.Context(), attempts)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					for i, v := range verdicts {
						if v.Action == ActionProceed {
							through[attempts[i].RecipientRef]++
						}
					}
				})
			}
		}
		wg.Wait()
		h.same("let through", map[string]int{"sam": 3, "kim": 3, "ann": 3}, through)
	})
}
