package gate

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/reasons"
)

func TestAMandatoryMessagePassesTheCapUncounted(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		g := newCapGate(h.store, []Cap{{Limit: 1, Per: time.Hour, Skip: true}})
		reset := attemptOf("reset", "sam", h.clk.Now())
		reset.Mandatory = true
		h.same("in one group", []string{"", "", "Skip " + reasons.FrequencyCap}, h.answersOf(g, reset, attemptOf("a", "sam", h.clk.Now()), attemptOf("b", "sam", h.clk.Now())))
		h.same("behind it", []string{"", ""}, h.answersOf(g, reset, attemptOf("a", "sam", h.clk.Now())))
	})
}

// A message that was let through and did not go out yet counts once, at the time at
// which it was let through last.
func TestAMessageCountsOnceInACap(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		g, start := newCapGate(h.store, []Cap{{Limit: 1, Per: 24 * time.Hour}}), h.clk.Now()
		for _, at := range []time.Duration{0, time.Minute, 10 * time.Hour} {
			h.same("again", []string{""}, h.answersOf(g, attemptOf("a", "sam", start.Add(at))))
		}
		over, err := g.Ask(t.Context(), []Attempt{attemptOf("b", "sam", start.Add(11*time.Hour))})
		if err != nil || !over[0].Until.Equal(start.Add(34*time.Hour)) {
			t.Errorf("another: %+v, %v", over, err)
		}
		rows := all(h, frequencies)
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		h.same("counted", []counted{{ID: "a", On: start.Add(10 * time.Hour), Type: "visit"}}, rows[0].Messages)
		h.answersOf(g, attemptOf("c", "sam", start.Add(100*time.Hour)))
		if rows = all(h, frequencies); len(rows) != 1 || len(rows[0].Messages) != 1 {
			t.Errorf("what is old is not forgotten: %+v", rows)
		}
	})
}

// All caps hold: the latest moment counts.
func TestAllCapsHold(t *testing.T) {
	t.Parallel()
	caps := []Cap{{Limit: 1, Per: time.Hour}, {Limit: 3, Per: 24 * time.Hour}}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var r frequencyRow
	for i := range 3 {
		if _, over := count(&r, caps, counted{ID: fmt.Sprint(i), On: now.Add(time.Duration(i) * 2 * time.Hour)}); over != nil {
			t.Fatalf("message %d: %+v", i, over)
		}
	}
	next, over := count(&r, caps, counted{ID: "4", On: now.Add(5*time.Hour - time.Minute)})
	if over == nil || over.Limit != 3 || !next.Equal(now.Add(24*time.Hour)) {
		t.Errorf("until %v for %+v", next, over)
	}
}

// A cap of some types bounds these together and leaves the others alone; one over all
// holds beside it.
func TestACapOfSomeTypesLeavesTheOthersAlone(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		tips := Cap{Limit: 2, Per: time.Hour, Skip: true, Types: []string{"tip", "offer"}}
		of := func(kind, id string) Attempt {
			a := attemptOf(id, "sam", h.clk.Now())
			a.NotificationType = kind
			return a
		}
		over := "Skip " + reasons.FrequencyCap
		g := newCapGate(h.store, []Cap{tips})
		h.same("not bounded", []string{"", "", ""}, h.answersOf(g, of("visit", "1"), of("visit", "2"), of("visit", "3")))
		if rows := all(h, frequencies); len(rows) != 0 {
			t.Errorf("what no cap bounds was counted: %+v", rows)
		}
		h.same("together", []string{"", "", over, ""}, h.answersOf(g, of("tip", "4"), of("offer", "5"), of("tip", "6"), of("visit", "7")))

		g = newCapGate(h.store, []Cap{tips, {Limit: 4, Per: time.Hour, Skip: true}})
		h.same("beside one over all", []string{"", over, "", over}, h.answersOf(g, of("visit", "8"), of("tip", "9"), of("visit", "10"), of("visit", "11")))
		h.clk.Add(2 * time.Hour)
		h.same("behind others that count over all", []string{"", "", ""}, h.answersOf(g, of("visit", "12"), of("visit", "13"), of("tip", "14")))
		defer func() {
			if recover() == nil {
				t.Error("a type without a name is taken")
			}
		}()
		newCapGate(h.store, []Cap{{Limit: 1, Per: time.Hour, Types: []string{""}}})
	})
}

// Two processes ask at once, about the same recipients for the first time.
func TestTwoProcessesShareACap(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		caps := []Cap{{Limit: 3, Per: time.Hour}}
		var mu sync.Mutex
		through := map[string]int{}
		var wg sync.WaitGroup
		for p := range 2 {
			g := newCapGate(h.store, caps)
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
