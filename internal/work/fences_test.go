package work_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// taken makes another worker the holder of a row.
func (b *bench) taken(key string) {
	b.t.Helper()
	b.edit(key, func(r *task) { r.Status, r.ClaimToken, r.LeaseExpiresOn = "Busy", "another's", start.Add(time.Minute) })
}

// I-7: the reply to a claim was lost, it had not happened, and another worker
// has the row: nobody handles it here.
func TestAClaimWithALostReplyReadsTheTokenAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	inner := b.store
	b.store = &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
		if c.Number != 1 || c.Verb != storetest.Committed {
			return nil
		}
		b.taken("a")
		return storage.ErrOutcomeUnknown
	}}
	r := b.runner()
	b.store = inner
	if rep, _ := r.Poll(t.Context(), 10); rep.Claimed != 0 || len(b.seen) != 0 {
		t.Errorf("%+v, handled %v", rep, b.seen)
	}
}

// I-7, I-8: a call-started write that did not happen is not taken for one because
// another worker's write gave the row the same version.
func TestStartReadsTheTokenAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	row := b.get("a")
	store := &storetest.Spy{Store: b.store, Hook: func(c storetest.Call) error {
		if c.Number != 1 || c.Verb != storetest.Begin {
			return nil
		}
		b.taken("a")
		return storage.ErrOutcomeUnknown
	}}
	ok, err := work.Start(t.Context(), store, b.table, start, []*task{row})
	if err != nil || ok[0] {
		t.Errorf("started %v, %v", ok, err)
	}
}

// A transaction that is run again starts from the rows as the handler left them.
func TestASettleThatRunsAgainStartsAfresh(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	b.spec.Dispatch = func(ctx context.Context, tx storage.Tx, done []work.Done[task, string]) error {
		done[0].Row.Note += "dispatched "
		return b.table.Save(ctx, tx, done[0].Row)
	}
	inner := b.store
	again := errors.New("again")
	b.store = rerunning{inner, again}
	r := b.runner()
	b.store = inner
	if rep, err := r.Poll(t.Context(), 10); err != nil || rep.Settled != 1 {
		t.Fatal(rep, err)
	}
	if got := b.get("a"); got.Note != "dispatched " || got.Status != "Done" {
		t.Errorf("%+v", got)
	}
}

// rerunning runs every function twice, and only the second time for good.
type rerunning struct {
	storage.Store
	again error
}

func (s rerunning) InTx(ctx context.Context, f func(storage.Tx) error) error {
	err := s.Store.InTx(ctx, func(tx storage.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return s.again
	})
	if !errors.Is(err, s.again) {
		return err
	}
	return s.Store.InTx(ctx, f)
}

// I-6: a clock that may be off by more than a quarter of the lease claims nothing.
func TestAnUncertainClockClaimsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store = memory.New(&memory.Options{Clock: uncertain{b.clk, 16 * time.Second}})
	b.add("a")
	rep, err := work.New(b.store, b.spec).Runner(work.Options{Lease: time.Minute}).Poll(t.Context(), 10)
	if !errors.Is(err, storage.ErrUnavailable) || rep.Claimed != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	rep, err = work.New(b.store, b.spec).Runner(work.Options{Lease: 65 * time.Second}).Poll(t.Context(), 10)
	if err != nil || rep.Claimed != 1 {
		t.Errorf("a longer lease allows for it: %+v, %v", rep, err)
	}
}

type uncertain struct {
	clock.Clock
	by time.Duration
}

func (c uncertain) Uncertainty() time.Duration { return c.by }

// I-6: who cannot renew a lease for as long as it lasts has lost it.
func TestALeaseThatCannotBeRenewedEndsItsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.insert(b.ready("a", b.store.Clock().Now()))
		inner := b.store
		var down atomic.Bool
		b.store = &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Begin && down.Load() {
				return storage.ErrUnavailable
			}
			return nil
		}}
		var after time.Duration
		b.handle = func(ctx context.Context, it work.Item[task]) error {
			down.Store(true)
			begun := inner.Clock().Now()
			<-it.Ctx.Done()
			if after == 0 { // the row may be taken over, and handled once more
				after = inner.Clock().Now().Sub(begun)
			}
			down.Store(false)
			return nil
		}
		stop := b.run(work.Options{Lease: time.Minute, Grace: time.Second})
		b.store = inner
		pass(3 * time.Minute)
		_ = stop()
		if after < time.Minute || after > 2*time.Minute {
			t.Errorf("the handler's context ended after %v", after)
		}
	})
}

// I-30: a call returns within its context and a second, whatever a handler does;
// what the handler decides in the end is settled all the same.
func TestI30_AHandlerThatIgnoresItsContextHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, r work.Runner) error{
		"Poll": func(ctx context.Context, r work.Runner) error { _, err := r.Poll(ctx, 10); return err },
		"Run":  func(ctx context.Context, r work.Runner) error { return r.Run(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newLive(t)
				b.insert(b.ready("a", b.store.Clock().Now()))
				begun, release := make(chan struct{}), make(chan struct{})
				b.handle = func(context.Context, work.Item[task]) error {
					close(begun)
					<-release
					return nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				returned := make(chan error, 1)
				r := work.New(b.store, b.spec).Runner(work.Options{Grace: 2 * time.Second})
				go func() { returned <- call(ctx, r) }()
				<-begun
				cancel()
				ended := b.store.Clock().Now()
				err := <-returned
				if took := b.store.Clock().Now().Sub(ended); took > 3*time.Second || !errors.Is(err, context.Canceled) {
					t.Errorf("returned after %v with %v", took, err)
				}
				if name == "Run" && !strings.Contains(err.Error(), "ignore") {
					t.Errorf("the error does not tell: %v", err)
				}
				close(release)
				synctest.Wait()
				b.must("a", "Done")
			})
		})
	}
}

// A claim that waits for the lock takes its lease when it has it: otherwise a worker
// loses leases to nobody's death.
func TestALeaseBeginsWhenItsClaimHasTheLock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	const waits = 6 * time.Second
	leased := time.Duration(0)
	b.handle = func(ctx context.Context, it work.Item[task]) error {
		leased = it.Row.LeaseExpiresOn.Sub(b.clk.Now())
		return ctx.Err()
	}
	inner := b.store
	b.store = &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
		if c.Verb == storetest.Begin && c.Number == 1 {
			b.clk.Add(waits)
		}
		return nil
	}}
	rep := b.poll(work.New(b.store, b.spec).Runner(work.Options{Lease: 2 * time.Second}), 10)
	if rep.Settled != 1 || leased != 2*time.Second {
		t.Errorf("%+v, with a lease of %v", rep, leased)
	}
}
