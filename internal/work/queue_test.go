package work_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// elsewhere is a store whose rows others write: it has no hints. A look at all tenants that
// begins more than a minute ago, as one from the head does, takes as long as it is told to.
type elsewhere struct {
	storage.Store
	waker driver.Waker
	head  time.Duration
	away  atomic.Bool // looks fail

	mu     sync.Mutex
	looks  []time.Time // from the head
	failed int
	claims map[storage.Scope][]int // limits of claims of one tenant
}

func (s *elsewhere) Waker() *driver.Waker { return &s.waker }

func (s *elsewhere) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) ([]driver.Cursor, error) {
	s.mu.Lock()
	if s.away.Load() {
		s.failed++
		s.mu.Unlock()
		return nil, storage.ErrUnavailable
	}
	from := c.Lanes[0].After
	if from == (driver.Cursor{}) && c.Scopes == nil {
		s.looks = append(s.looks, s.Clock().Now())
	}
	s.mu.Unlock()
	if c.Scopes == nil && s.Clock().Now().Sub(from.DueOn) > time.Minute {
		pass(s.head)
	}
	return s.Store.Next(ctx, schema, c, horizon)
}

func (s *elsewhere) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(elsewhereTx{tx, s}) })
}

type elsewhereTx struct {
	storage.Tx
	of *elsewhere
}

func (t elsewhereTx) Claim(ctx context.Context, schema *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	for _, scope := range c.Scopes {
		t.of.claims[scope] = append(t.of.claims[scope], c.Lanes[0].Limit)
	}
	return t.Tx.Claim(ctx, schema, c)
}

// hint tells that a row was saved.
func (s *elsewhere) hint(due time.Time) {
	s.waker.Wake(driver.Hint{Table: "task", Status: "Ready"}, due)
}

// runElsewhere runs a poller whose rows others write.
func (b *bench) runElsewhere(head time.Duration, o work.Options) (s *elsewhere, stop func() error) {
	inner := b.store
	s = &elsewhere{Store: inner, head: head, claims: map[storage.Scope][]int{}}
	b.store = s
	stop = b.run(o)
	b.store = inner
	return s, stop
}

// What another process makes due in the past lies behind the place of a queue, which starts
// again at the head each second, whatever there is to claim ahead.
func TestARowMadeDueInThePastIsClaimedWithinASecond(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"idle": false, "with full claims ahead": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newLive(t)
				now := b.store.Clock().Now()
				b.insert(b.ready("first", now))
				if busy {
					b.many(40_000, driver.Due{Record: storage.Record{Key: "ahead"}, DueOn: now})
				}
				b.handle = func(context.Context, work.Item[task]) error { pass(time.Millisecond); return nil }
				_, stop := b.runElsewhere(0, work.Options{})
				pass(500 * time.Millisecond)
				b.insert(b.ready("past", now.Add(-time.Hour)))
				pass(1200 * time.Millisecond)
				synctest.Wait()
				b.must("past", "Done")
				_ = stop()
			})
		})
	}
}

// A long transaction makes looks from the head slow. Where a turn waits for them they take a
// tenth of the time at most, and half of it where they go on beside the turns, however often
// rows are made due in the past.
func TestLooksFromTheHeadAreBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		head  time.Duration
		hints bool // the rows are this process's
		most  int  // looks in 14 s
	}{
		"waited for":       {40 * time.Millisecond, true, 14_000 / 440},
		"beside the turns": {200 * time.Millisecond, true, 14_000 / 400},
		"rows of others":   {2 * time.Second, false, 14_000 / 4000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newLive(t)
				s, stop := b.runElsewhere(tt.head, work.Options{})
				for i := range 200 {
					pass(50 * time.Millisecond)
					past := b.store.Clock().Now().Add(-2 * time.Minute)
					b.insert(b.ready(fmt.Sprint(i), past))
					if tt.hints {
						s.hint(past)
					}
				}
				pass(4 * time.Second)
				synctest.Wait()
				for i := range 200 {
					b.must(fmt.Sprint(i), "Done")
				}
				if n := len(s.looks); n < tt.most/3 || n > tt.most+2 {
					t.Errorf("%d looks of %v from the head in 14 s", n, tt.head)
				}
				_ = stop()
			})
		})
	}
}

// A claim asks only for kinds with room, and for no lane in which a look found nothing.
func TestAnIdleTurnIsOneLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		s, stop := b.runElsewhere(0, work.Options{Interval: 10 * time.Second})
		pass(time.Minute + 5*time.Second)
		synctest.Wait()
		if n := len(s.looks); n != 7 {
			t.Errorf("%d looks in 65 seconds", n)
		}
		_ = stop()
	})
}

// A full claim says nothing about what is due next: a row that is due a moment later does
// not wait for the interval.
func TestARowThatIsDueRightAfterAFullClaimIsNotLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		now := b.store.Clock().Now()
		b.many(1000, driver.Due{Record: storage.Record{Key: "batch"}, DueOn: now.Add(-time.Hour)})
		b.insert(b.ready("next", now.Add(100*time.Millisecond)))
		_, stop := b.runElsewhere(0, work.Options{Interval: time.Minute})
		pass(110 * time.Millisecond)
		synctest.Wait()
		b.must("next", "Done")
		_ = stop()
	})
}

// A kind that is served no more is not claimed, whatever queue it has.
func TestAKindThatIsServedNoMoreIsLeftToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		var gone atomic.Bool
		b.spec.Types = func() []string {
			if gone.Load() {
				return []string{"other"}
			}
			return []string{"mail", "other"}
		}
		b.many(20_000, driver.Due{Record: storage.Record{Key: "row", Scope: "each", Kind: "mail"}, DueOn: b.store.Clock().Now().Add(-time.Hour)})
		letGo := b.hanging(func(*task) bool { return true })
		stop := b.run(work.Options{})
		pass(time.Second)
		gone.Store(true)
		letGo()
		pass(time.Minute)
		_ = stop()
		done := 0
		for _, row := range b.all() {
			if row.Status == "Done" {
				done++
			}
		}
		if done == 0 || done > 5000 {
			t.Errorf("%d rows are done", done)
		}
	})
}

// A row that was made due in the past does not have a poller ask a database that is away
// again and again.
func TestAHintDoesNotMakeAPollerSpinWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		s, stop := b.runElsewhere(0, work.Options{})
		pass(1500 * time.Millisecond)
		s.away.Store(true)
		s.hint(b.store.Clock().Now().Add(-time.Hour))
		pass(10 * time.Second)
		if s.failed < 5 || s.failed > 15 {
			t.Errorf("%d looks in 10 seconds", s.failed)
		}
		_ = stop()
	})
}

// backlogged is a bench with the backlog of a tenant, and one more row of another behind it.
func backlogged(t *testing.T, n int) *bench {
	b := newLive(t)
	b.spec.Types = func() []string { return []string{"mail"} }
	b.many(n, driver.Due{Record: storage.Record{Key: "big", Scope: "big", Kind: "mail"}, DueOn: b.store.Clock().Now().Add(-time.Hour)})
	return b
}

// What else is due is looked for over a tenant's backlog, which is claimed meanwhile. Such
// looks take a tenth of the time.
func TestALookOverABacklogKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backlogged(t, 60_000)
		b.handle = func(context.Context, work.Item[task]) error { pass(time.Millisecond); return nil }
		s, stop := b.runElsewhere(time.Second, work.Options{})
		pass(time.Second) // the first look
		pass(5 * time.Second)
		synctest.Wait()
		got := 0
		for _, row := range b.all() {
			if row.Status == "Done" {
				got++
			}
		}
		if got < 36_000 { // of 8 in a millisecond
			t.Errorf("%d rows are done in 5 seconds", got)
		}
		s.mu.Lock()
		if n := len(s.looks); n != 1 {
			t.Errorf("%d looks of a second from the head in six", n)
		}
		s.mu.Unlock()
		_ = stop()
	})
}

// Beside others a tenant with a backlog claims a quarter of a batch at a time, and alone
// whole ones.
func TestABacklogIsClaimedInShortTransactionsBesideOthers(t *testing.T) {
	t.Parallel()
	for name, alone := range map[string]bool{"alone": true, "beside others": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := backlogged(t, 20_000)
				b.spec.Group = 1
				b.handle = func(context.Context, work.Item[task]) error { pass(time.Millisecond); return nil }
				s, stop := b.runElsewhere(0, work.Options{})
				for i := range 20 {
					pass(50 * time.Millisecond)
					if !alone {
						row := b.ready(fmt.Sprint(i), b.store.Clock().Now())
						row.Scope, row.Kind = "small", "mail"
						b.insert(row)
						s.hint(row.DueOn)
					}
				}
				s.mu.Lock()
				s.claims["big"] = nil
				s.mu.Unlock()
				pass(500 * time.Millisecond)
				synctest.Wait()
				s.mu.Lock()
				most := slices.Max(s.claims["big"])
				s.mu.Unlock()
				if alone != (most > 250) {
					t.Errorf("claims of up to %d rows", most)
				}
				_ = stop()
			})
		})
	}
}

// Tenants whose calls hang leave room for the next one, and hold less and less.
func TestTenantsWhoseCallsHangShareRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		letGo := b.hanging(func(r *task) bool { return r.Scope != "" })
		_, stop := b.runElsewhere(0, work.Options{})
		for _, scope := range []storage.Scope{"first", "second", "third", "fourth", "fifth", "sixth"} {
			b.many(5000, driver.Due{Record: storage.Record{Key: "hung", Scope: scope, Kind: "mail"}, DueOn: b.store.Clock().Now().Add(-time.Second)})
			pass(5 * time.Second)
		}
		synctest.Wait()
		busy := map[storage.Scope]int{}
		for _, row := range b.all() {
			if row.Status == "Busy" {
				busy[row.Scope]++
			}
		}
		if busy["first"] != 2000 || busy["second"] != 1000 || busy["third"] > 1000 || busy["sixth"] > 1000 {
			t.Errorf("in flight: %v", busy)
		}
		row := b.ready("well", b.store.Clock().Now())
		row.Kind = "mail"
		b.insert(row)
		pass(2 * time.Second)
		synctest.Wait()
		b.must("well", "Done")
		letGo()
		_ = stop()
	})
}

// A queue without room goes on as soon as there is some, and one that has caught up ends:
// then an idle turn is one look again.
func TestAQueueGoesOnWhenThereIsRoomAndEnds(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]storage.Scope{"a tenant's": "big", "a kind's": "each"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newLive(t)
				b.spec.Types = func() []string { return []string{"mail"} }
				b.many(10_000, driver.Due{Record: storage.Record{Key: "row", Scope: scope, Kind: "mail"}, DueOn: b.store.Clock().Now().Add(-time.Hour)})
				letGo := b.hanging(func(*task) bool { return true })
				s, stop := b.runElsewhere(0, work.Options{Interval: time.Hour})
				pass(2 * time.Second)
				letGo()
				pass(2 * time.Second)
				synctest.Wait()
				b.done(10_000, "in all", func(*task) bool { return true })
				pass(5 * time.Hour)
				s.mu.Lock()
				s.looks = nil
				s.mu.Unlock()
				pass(10 * time.Hour)
				if n := len(s.looks); n != 10 {
					t.Errorf("%d looks in ten intervals", n)
				}
				_ = stop()
			})
		})
	}
}

// channel lets through so many calls in a second, of whatever tenant.
type channel struct {
	mu   sync.Mutex
	free time.Time
	each time.Duration
}

func (c *channel) call() {
	c.mu.Lock()
	at := time.Now()
	if c.free.After(at) {
		at = c.free
	}
	c.free = at.Add(c.each)
	c.mu.Unlock()
	pass(time.Until(at))
}

// Behind the backlog of one tenant on a channel of 100 calls a second another tenant's
// reminder leaves within five seconds, however it came there.
func TestABacklogOfOneTenantHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	type scene struct {
		pollers int
		small   func(b *bench, now time.Time) // makes the other tenant's rows
		before  func(b *bench, now time.Time)
		during  func(b *bench, now time.Time) // each second of the first ten
	}
	one := func(b *bench, due time.Time) {
		row := b.ready("small", due)
		row.Scope, row.Kind = "small", "mail"
		b.insert(row)
	}
	for name, s := range map[string]scene{
		"due now":                     {small: one},
		"due in the past, given back": {small: func(b *bench, now time.Time) { one(b, now.Add(-30*time.Minute)) }},
		"three pollers":               {pollers: 3, small: one},
		"ten thousand tenants with rows that are due later": {small: one, before: func(b *bench, now time.Time) {
			rows := make([]task, 10_000)
			for i := range rows {
				rows[i] = b.ready("later", now.Add(24*time.Hour))
				rows[i].Scope, rows[i].Kind = storage.Scope(fmt.Sprint("tenant ", i)), "mail"
			}
			b.insert(rows...)
		}},
		"inflow above the share": {small: one, during: func(b *bench, now time.Time) {
			b.many(200, driver.Due{Record: storage.Record{Key: fmt.Sprint("more ", now.Unix(), " "), Scope: "big", Kind: "mail"}, DueOn: now})
		}},
		"a retry": {small: func(b *bench, now time.Time) {
			row := b.ready("small", now.Add(-time.Minute))
			row.Scope, row.Kind, row.Note = "small", "mail", "fails"
			b.insert(row)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newLive(t)
				b.spec.Types = func() []string { return []string{"mail"} }
				b.spec.Group = 10
				now := b.store.Clock().Now()
				b.many(20_000, driver.Due{Record: storage.Record{Key: "big", Scope: "big", Kind: "mail"}, DueOn: now.Add(-time.Hour)})
				if s.before != nil {
					s.before(b, now)
				}
				c := &channel{each: 10 * time.Millisecond}
				b.handle = func(_ context.Context, it work.Item[task]) error {
					c.call()
					if it.Row.Note == "fails" {
						return errors.New("not now")
					}
					return nil
				}
				b.spec.Fail = func(now time.Time, r *task, _ error) {
					r.Status, r.Note, r.DueOn = "Ready", "failed", now.Add(time.Second)
				}
				var stops []func() error
				for range max(s.pollers, 1) {
					_, stop := b.runElsewhere(0, work.Options{Grace: time.Second})
					stops = append(stops, stop)
				}
				for range 10 {
					pass(time.Second)
					if s.during != nil {
						s.during(b, b.store.Clock().Now())
					}
				}
				s.small(b, b.store.Clock().Now())
				pass(5 * time.Second)
				synctest.Wait()
				b.done(1, "of the small tenant", func(r *task) bool { return r.Scope == "small" })
				for _, stop := range stops {
					_ = stop()
				}
			})
		})
	}
}

// A poller that was stopped finds the small tenant's row behind the backlog that grew
// meanwhile.
func TestAPollerThatWasStoppedServesAllTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		b.spec.Group = 10
		now := b.store.Clock().Now()
		b.many(20_000, driver.Due{Record: storage.Record{Key: "big", Scope: "big", Kind: "mail"}, DueOn: now.Add(-time.Minute)})
		row := b.ready("small", now.Add(-30*time.Second))
		row.Scope, row.Kind = "small", "mail"
		b.insert(row)
		b.many(20_000, driver.Due{Record: storage.Record{Key: "more", Scope: "big", Kind: "mail"}, DueOn: now.Add(-20 * time.Second)})
		c := &channel{each: 10 * time.Millisecond}
		b.handle = func(context.Context, work.Item[task]) error { c.call(); return nil }
		_, stop := b.runElsewhere(0, work.Options{Grace: time.Second})
		pass(5 * time.Second)
		synctest.Wait()
		b.done(1, "of the small tenant", func(r *task) bool { return r.Scope == "small" })
		_ = stop()
	})
}

// A tenant whose calls hang takes slots and room from nobody else: neither with very many
// rows, nor with few that come one after the other.
func TestATenantWhoseCallsHangHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, many := range map[string]int{"a backlog": 5000, "one row after the other": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newLive(t)
				b.spec.Types = func() []string { return []string{"mail"} }
				now := b.store.Clock().Now()
				b.many(many, driver.Due{Record: storage.Record{Key: "hung", Scope: "hung", Kind: "mail"}, Lane: storage.LaneUrgent, DueOn: now.Add(-time.Second)})
				letGo := b.hanging(func(r *task) bool { return r.Scope == "hung" })
				stop := b.run(work.Options{})
				for i := range 30 {
					for _, scope := range []storage.Scope{"hung", storage.Scope(fmt.Sprint("well ", i))} {
						row := b.ready(fmt.Sprint("row ", i), b.store.Clock().Now())
						row.Scope, row.Kind, row.Lane = scope, "mail", storage.LaneUrgent
						b.insert(row)
						synctest.Wait()
					}
					pass(500 * time.Millisecond)
					synctest.Wait()
					b.done(i+1, "of other tenants", func(r *task) bool { return r.Scope != "hung" })
				}
				letGo()
				_ = stop()
			})
		})
	}
}
