package gate

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// attempts makes n of them, numbered from first on.
func attempts(first, n int, now time.Time) (out []notify.Attempt) {
	for i := range n {
		out = append(out, attemptOf(fmt.Sprintf("id %04d", first+i), "sam", now))
	}
	return out
}

func TestARateLetsItsBurstThroughAndLinesUpTheRest(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		g, start := newRateGate(h.store, []Rate{{Channel: channelKey, Limit: 2, Per: time.Second, Burst: 5}}), h.clk.Now()
		at := func(halves ...int) (out []time.Time) {
			for _, n := range halves {
				out = append(out, start.Add(time.Duration(n)*time.Second/2))
			}
			return out
		}
		n, until := h.through(g, attempts(0, 8, start))
		h.same("at once", 5, n)
		h.same("the rest", at(1, 2, 3), until)
		n, until = h.through(g, attempts(8, 2, start))
		h.same("behind them", []any{0, at(4, 5)}, []any{n, until})
		n, _ = h.through(g, attempts(5, 1, at(1)[0]))
		h.same("when its time has come", 1, n)
		n, _ = h.through(g, attempts(6, 2, at(2)[0]))
		h.same("and of the next two one", 1, n)
		n, _ = h.through(g, attempts(100, 20, start.Add(time.Hour)))
		h.same("after a rest", 5, n)
	})
}

func TestAnAttemptCountsOnceInARateAndTheNextOneAgain(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		g, now := newRateGate(h.store, []Rate{{Channel: channelKey, Limit: 1, Per: time.Hour, Burst: 2}}), h.clk.Now()
		for range 3 {
			n, _ := h.through(g, attempts(0, 1, now))
			h.same("the same attempt", 1, n)
		}
		again := attempts(0, 1, now)
		again[0].Number = 2
		n, _ := h.through(g, again)
		h.same("its second call", 1, n)
		n, _ = h.through(g, attempts(1, 1, now))
		h.same("another", 0, n)
	})
}

// A tenth is left to urgent messages, and other channels are not concerned.
func TestUrgentMessagesHaveAPartOfTheRate(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		g, now := newRateGate(h.store, []Rate{{Channel: channelKey, Limit: 1, Per: time.Hour, Burst: 20}}), h.clk.Now()
		n, _ := h.through(g, attempts(0, 30, now))
		h.same("at once", 18, n)
		urgent := attempts(50, 3, now)
		for i := range urgent {
			urgent[i].Urgent = true
		}
		n, _ = h.through(g, urgent)
		h.same("urgent ones", 2, n)
		other := attempts(60, 3, now)
		for i := range other {
			other[i].Channel = "sms:test"
		}
		n, _ = h.through(g, other)
		h.same("of another channel", 3, n)
	})
}

func TestScopesShareARateOrHaveTheirOwn(t *testing.T) {
	for name, c := range map[string]struct {
		perScope bool
		want     int
	}{"shared": {false, 2}, "of their own": {true, 4}} {
		t.Run(name, func(t *testing.T) {
			asked(t, func(t *testing.T, h *policies) {
				g := newRateGate(h.store, []Rate{{Channel: channelKey, Limit: 1, Per: time.Hour, Burst: 2, PerScope: c.perScope}})
				all := append(attempts(0, 3, h.clk.Now()), attempts(0, 3, h.clk.Now())...)
				for i := range 3 {
					all[i].Scope = "another"
				}
				n, _ := h.through(g, all)
				h.same("let through", c.want, n)
			})
		})
	}
}

// Two processes with several groups each never use more than the rate allows, and
// use all of it.
func TestTwoProcessesShareARate(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		var mu sync.Mutex
		total := 0
		var wg sync.WaitGroup
		for p := range 2 {
			g := newRateGate(h.store, []Rate{{Channel: channelKey, Limit: 10, Per: time.Hour, Burst: 50}})
			for group := range 4 {
				wg.Go(func() {
					verdicts, err := g.Ask(t.Context(), attempts(p*1000+group*100, 16, h.clk.Now()))
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					for _, v := range verdicts {
						if v.Action == notify.ActionProceed {
							total++
						}
					}
				})
			}
		}
		wg.Wait()
		h.same("let through", 45, total) // a tenth of 50 is for urgent ones
		h.same("reserved", 45, len(all(h, rateReservations)))
	})
}

// Whoever waits longer than an hour comes back before, and lines up anew.
func TestNobodyWaitsBehindAPromiseForMoreThanAnHour(t *testing.T) {
	h := inMemory(t)
	g, now := newRateGate(h.store, []Rate{{Channel: channelKey, Limit: 1, Per: 20 * time.Minute}}), h.clk.Now()
	_, until := h.through(g, attempts(0, 40, now))
	for i, at := range until {
		if wait := at.Sub(now); wait > time.Hour || i < 3 && wait != time.Duration(i+1)*20*time.Minute || i >= 3 && wait < 30*time.Minute {
			t.Errorf("message %d waits %v", i, wait)
		}
	}
	if until = slices.Compact(until); len(until) < 30 {
		t.Errorf("%d moments", len(until))
	}
}

func TestOldReservationsAreDeleted(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		g := newRateGate(h.store, []Rate{{Channel: channelKey, Limit: 10_000, Per: time.Second}})
		start := h.clk.Now()
		h.through(g, attempts(0, sweepAfter, start))
		h.clk.Add(reservationAge)
		h.through(g, attempts(2000, 1, h.clk.Now()))
		h.same("just old enough to stay", sweepAfter, h.reservedOn(start))
		h.clk.Add(time.Second)
		h.through(g, attempts(3000, sweepAfter-1, h.clk.Now()))
		h.same("before it is time", sweepAfter, h.reservedOn(start))
		h.through(g, attempts(4000, 1, h.clk.Now()))
		h.same("old ones", 0, h.reservedOn(start))
		h.same("new ones", sweepAfter+1, len(all(h, rateReservations)))
	})
}

// A tenant that sends a message and no more is swept too, by whoever sends later.
func TestReservationsOfManyTenantsAreDeletedByAge(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		limits := []Rate{{Channel: channelKey, Limit: 10_000, Per: time.Second}}
		start, tenants := h.clk.Now(), 8*sweepAfter
		old := attempts(0, tenants, start)
		for i := range old {
			old[i].Scope = storage.Scope(old[i].MessageID)
		}
		h.through(newRateGate(h.store, limits), old)
		h.clk.Add(10 * 24 * time.Hour)
		later := newRateGate(h.store, limits) // another process
		for i := range 5 {
			h.through(later, attempts(5000+i, 1, h.clk.Now()))
		}
		h.same("old ones", 0, h.reservedOn(start))
		h.same("new ones", 5, len(all(h, rateReservations)))
	})
}

// reservedOn counts the reservations of a moment.
func (h *policies) reservedOn(on time.Time) (n int) {
	for _, r := range all(h, rateReservations) {
		if r.ReservedOn.Equal(on) {
			n++
		}
	}
	return n
}
