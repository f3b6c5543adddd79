package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// attempts makes n of them, numbered from first on.
func attempts(first, n int, now time.Time) (out []Attempt) {
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

// An account that two stores share has one rate, if both count in one store.
func TestStoresShareTheRateOfAnAccount(t *testing.T) {
	asked(t, func(t *testing.T, h *policies) {
		total := 0
		for i := range 2 {
			store := memory.New(&memory.Options{Clock: h.clk})
			gates := New(store, &Options{RateStore: h.store, Rates: []Rate{{Channel: channelKey, Limit: 1, Per: time.Hour, Burst: 3}}})
			n, _ := h.through(gates[len(gates)-1], attempts(10*i, 2, h.clk.Now()))
			total += n
		}
		h.same("let through", 3, total)
	})
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
						if v.Action == ActionProceed {
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

// comeback plays messages that come back when a gate has told them to.
type comeback struct {
	*policies
	gate    Gate
	now     time.Time
	waiting map[string]Attempt // by id; Now is until when
	asked   int
	let     map[storage.Scope]int
}

func newComeback(h *policies, l Rate) *comeback {
	return &comeback{h, newRateGate(h.store, []Rate{l}), h.clk.Now(), map[string]Attempt{}, 0, map[storage.Scope]int{}}
}

func (c *comeback) ask(scope storage.Scope, ids ...string) {
	var all []Attempt
	for _, id := range ids {
		all = append(all, attemptOf(id, "sam", c.now))
		all[len(all)-1].Scope = scope
	}
	c.askFor(all)
}

func (c *comeback) askFor(all []Attempt) {
	c.t.Helper()
	verdicts, err := c.gate.Ask(c.t.Context(), all)
	if err != nil {
		c.t.Fatal(err)
	}
	c.asked += len(all)
	for i, v := range verdicts {
		if delete(c.waiting, all[i].MessageID); v.Action == ActionProceed {
			c.let[all[i].Scope]++
			continue
		}
		all[i].Now = v.Until
		c.waiting[all[i].MessageID] = all[i]
	}
}

// pass lets time pass in steps of 50 ms; whoever comes back then asks in the order of time.
func (c *comeback) pass(d time.Duration) {
	c.t.Helper()
	for end := c.now.Add(d); c.now.Before(end); {
		c.now = c.now.Add(50 * time.Millisecond)
		c.clk.Set(c.now)
		var back []Attempt
		for _, a := range c.waiting {
			if !a.Now.After(c.now) {
				back = append(back, a)
			}
		}
		slices.SortFunc(back, func(a, b Attempt) int {
			return cmp.Or(a.Now.Compare(b.Now), strings.Compare(a.MessageID, b.MessageID))
		})
		for i := range back {
			back[i].Now = c.now
		}
		c.askFor(back)
	}
}

func numbered(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s %04d", prefix, i))
	}
	return ids
}

// Where scopes share a rate, each lines up behind itself: behind a backlog of one that uses
// all of the rate another's message leaves within five seconds, and nothing of the rate is
// lost.
func TestAScopesBacklogHoldsUpNoOtherInARate(t *testing.T) {
	c := newComeback(inMemory(t), Rate{Channel: channelKey, Limit: 100, Per: time.Second, Burst: 10})
	c.ask("big", numbered("big", 4000)...)
	c.pass(time.Second)
	for _, id := range numbered("small", 5) {
		c.ask("small", id)
		c.pass(5 * time.Second)
		if a, waits := c.waiting[id]; waits {
			t.Errorf("%s waits until %v after %v", id, a.Now, c.now)
		}
	}
	if n := c.let["big"]; n < 95*26 {
		t.Errorf("%d messages in 26 seconds at 100 a second", n)
	}
}

// Scopes that wait for a rate have like parts of it, and do not ask in vain.
func TestScopesThatWaitHaveLikePartsOfARate(t *testing.T) {
	c := newComeback(inMemory(t), Rate{Channel: channelKey, Limit: 100, Per: time.Second, Burst: 10})
	const scopes, each = 8, 500
	for n := range scopes {
		c.ask(storage.Scope(fmt.Sprint(n)), numbered(fmt.Sprint(n), each)...)
	}
	c.pass(10 * time.Second) // until those lined up that came before the others
	clear(c.let)
	c.asked = 0
	c.pass(20 * time.Second)
	sum := 0
	for n := range scopes {
		let := c.let[storage.Scope(fmt.Sprint(n))]
		if sum += let; let < 150 || let > 350 {
			t.Errorf("scope %d has %d of 2000", n, let)
		}
	}
	if sum < 1900 || c.asked > 3*sum {
		t.Errorf("%d messages in 20 seconds at 100 a second, asked for %d times", sum, c.asked)
	}
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
