package work_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// newLive is a bench on a real clock, for use in a bubble of synctest.
func newLive(t *testing.T) *bench {
	b := newBench(t)
	b.store = memory.New(&memory.Options{Clock: clock.New()})
	return b
}

// run starts a runner and returns a function that stops it and gives its error.
func (b *bench) run(o work.Options) (stop func() error) {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	r := work.New(b.store, b.spec).Runner(o)
	go func() { done <- r.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

// pass lets fake time pass, inside a bubble.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func (b *bench) ready(key string, due time.Time) task {
	return task{Due: driver.Due{Record: storage.Record{Key: key, Status: "Ready"}, DueOn: due}}
}

func TestRunWakesForTheNextDueMomentAndForHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		now := b.store.Clock().Now()
		b.insert(b.ready("soon", now.Add(300*time.Millisecond)))
		stop := b.run(work.Options{Interval: time.Minute})
		synctest.Wait()
		b.must("soon", "Ready")
		pass(301 * time.Millisecond)
		synctest.Wait()
		b.must("soon", "Done")
		b.insert(b.ready("hinted", b.store.Clock().Now()))
		synctest.Wait()
		b.must("hinted", "Done") // long before the interval
		_ = stop()
	})
}

// A row behind the place of a queue is looked for when the queue may start again, not only
// when the interval is over.
func TestARowBehindThePlaceWaitsForARestartAndNotForTheInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		b.store = &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Next {
				pass(10 * time.Millisecond) // so that the next may be 100 ms later
			}
			return nil
		}}
		stop := b.run(work.Options{Interval: time.Hour})
		b.store = inner
		pass(time.Second)
		b.insert(b.ready("ahead", inner.Clock().Now()))
		pass(50 * time.Millisecond)
		b.insert(b.ready("behind", inner.Clock().Now().Add(-time.Second)))
		pass(250 * time.Millisecond)
		synctest.Wait()
		b.must("behind", "Done")
		_ = stop()
	})
}

// What others on the table have to do with wakes nobody else: each poll would walk over
// all of it.
func TestRunSleepsThroughRowsThatItDoesNotClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		var peeks atomic.Int64
		b.store = &storetest.Spy{Store: b.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Next {
				peeks.Add(1)
			}
			return nil
		}}
		stop := b.run(work.Options{Interval: time.Minute})
		synctest.Wait()
		before := peeks.Load()
		for i := range 50 {
			row := b.ready(fmt.Sprint(i), b.store.Clock().Now())
			row.Status = "Another"
			b.insert(row)
			synctest.Wait()
		}
		if n := peeks.Load() - before; n != 0 {
			t.Errorf("%d peeks", n)
		}
		b.insert(b.ready("ours", b.store.Clock().Now()))
		synctest.Wait()
		b.must("ours", "Done")
		_ = stop()
	})
}

func (b *bench) must(key, status string) {
	b.t.Helper()
	if got := b.get(key).Status; got != status {
		b.t.Errorf("%s is %s, want %s", key, got, status)
	}
}

func TestRunStopsCleanly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		begun := make(chan struct{})
		b.insert(b.ready("slow", b.store.Clock().Now()))
		b.handle = func(ctx context.Context, it work.Item[task]) error {
			close(begun)
			pass(5 * time.Second)
			return it.Ctx.Err()
		}
		stop := b.run(work.Options{Grace: 10 * time.Second})
		<-begun
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		b.must("slow", "Done")
	})
}

func TestGraceEndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		begun := make(chan struct{})
		b.insert(b.ready("slow", b.store.Clock().Now()))
		b.handle = func(ctx context.Context, it work.Item[task]) error {
			close(begun)
			<-it.Ctx.Done()
			return it.Ctx.Err()
		}
		stop := b.run(work.Options{Grace: time.Second})
		<-begun
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got := b.get("slow"); got.Retries != 1 {
			t.Errorf("the failure is written down: %+v", got)
		}
	})
}

func TestHeartbeatKeepsALongHandlersLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.insert(b.ready("long", b.store.Clock().Now()))
		b.handle = func(ctx context.Context, it work.Item[task]) error {
			pass(10 * time.Minute)
			return it.Ctx.Err()
		}
		stopA, stopB := b.run(work.Options{Lease: time.Minute}), b.run(work.Options{Lease: time.Minute})
		pass(11 * time.Minute)
		synctest.Wait()
		_, _ = stopA(), stopB()
		b.must("long", "Done")
		if len(b.seen) != 1 {
			t.Errorf("handled %d times", len(b.seen))
		}
	})
}

func TestALostLeaseEndsItsRowsContextOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Group = 1
		now := b.store.Clock().Now()
		b.insert(b.ready("lost", now), b.ready("kept", now))
		ended := map[string]error{}
		var lostAfter time.Duration
		b.handle = func(ctx context.Context, it work.Item[task]) error {
			if it.Row.Key == "lost" {
				b.edit("lost", func(r *task) { r.ClaimToken = "another's" })
			}
			select {
			case <-it.Ctx.Done():
			case <-time.NewTimer(2 * time.Minute).C:
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			ended[it.Row.Key] = it.Ctx.Err()
			if it.Row.Key == "lost" && lostAfter == 0 { // it comes again once it was taken over
				lostAfter = b.store.Clock().Now().Sub(now)
			}
			return nil
		}
		stop := b.run(work.Options{Lease: time.Minute})
		pass(3 * time.Minute)
		synctest.Wait()
		_ = stop()
		if ended["lost"] == nil || ended["kept"] != nil {
			t.Errorf("contexts: %v", ended)
		}
		b.must("kept", "Done")
		if lostAfter > 30*time.Second {
			t.Errorf("the handler heard of it after %v, when the row may be in other hands", lostAfter)
		}
		if got := b.get("lost"); got.Note != "abandoned" {
			t.Errorf("another's row was settled by us: %+v", got)
		}
	})
}

func TestRunHandlesManyRowsOnceBesideAnotherRunner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		for i := range 2000 {
			b.insert(b.ready(fmt.Sprint(i), b.store.Clock().Now()))
		}
		stopA, stopB := b.run(work.Options{Batch: 100, InFlight: 300}), b.run(work.Options{Batch: 70})
		pass(10 * time.Second)
		synctest.Wait()
		_, _ = stopA(), stopB()
		once := map[string]int{}
		for _, k := range b.seen {
			once[k]++
		}
		if len(b.seen) != 2000 || len(once) != 2000 {
			t.Errorf("handled %d times, %d rows", len(b.seen), len(once))
		}
	})
}

// An idle poller makes one SELECT an interval, also while another holds a row
// whose lease ends soon.
func TestAnIdlePollerDoesNotSpin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		now := b.store.Clock().Now()
		held := b.ready("held", now)
		held.Status, held.ClaimToken, held.LeaseExpiresOn = "Busy", "another's", now.Add(20*time.Second)
		b.insert(held)
		var peeks atomic.Int64
		counting := &storetest.Spy{Store: b.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Next {
				peeks.Add(1)
			}
			return nil
		}}
		b.store = counting
		stop := b.run(work.Options{})
		pass(19 * time.Second)
		synctest.Wait()
		if n := peeks.Load(); n < 15 || n > 21 {
			t.Errorf("%d peeks in 19 seconds", n)
		}
		if n := counting.Begun(); n > 4 {
			t.Errorf("%d transactions, and there is nothing to claim", n)
		}
		_ = stop()
	})
}

// I-14: a row behind the cursor whose worker died is taken over by a poller that
// runs on, although its look, which has just seen the row, had its cost too.
func TestI14_ARunningPollerTakesOverWhatLiesBehindItsCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		now := b.store.Clock().Now()
		held := b.ready("held", now.Add(-time.Minute))
		held.Status, held.ClaimToken, held.LeaseExpiresOn = "Busy", "dead", now.Add(10*time.Second)
		b.insert(held, b.ready("first", now), b.ready("second", now.Add(2*time.Second))) // a claim ahead has the second
		inner := b.store
		b.store = &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Next { // costs something, as those of a database do
				pass(5 * time.Millisecond)
			}
			return nil
		}}
		stop := b.run(work.Options{})
		b.store = inner
		pass(5 * time.Second)
		b.must("first", "Done")
		b.must("second", "Done")
		pass(10 * time.Second)
		_ = stop()
		if got := b.get("held"); got.Note != "abandoned" {
			t.Errorf("%+v", got)
		}
	})
}
