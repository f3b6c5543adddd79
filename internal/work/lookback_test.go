package work_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// tired is a store on which whoever looks far, which is from the start of the due order,
// has to walk for nine seconds, and that tells nobody what another process wrote.
type tired struct {
	storage.Store
	waker *driver.Waker
	deaf  bool // to the end of a context
	far   func(driver.Claim) bool
}

const walk = 9 * time.Second

var errWalk = errors.New("there is much in the way")

func (s *tired) Waker() *driver.Waker { return s.waker }

func (s *tired) InTx(ctx context.Context, f func(storage.Tx) error) error {
	err := s.Store.InTx(ctx, func(tx storage.Tx) error { return f(tiredTx{tx, s, false}) })
	if !errors.Is(err, errWalk) {
		return err
	}
	if s.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	if err := walked(ctx); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(tiredTx{tx, s, true}) })
}

func (s *tired) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) (time.Time, error) {
	if s.far(c) {
		if err := walked(ctx); err != nil {
			return time.Time{}, err
		}
	}
	return s.Store.Next(ctx, schema, c, horizon)
}

type tiredTx struct {
	storage.Tx
	of     *tired
	rested bool
}

func (t tiredTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	if t.of.far(c) && !t.rested {
		return nil, errWalk
	}
	if t.rested {
		ctx = context.WithoutCancel(ctx) // it had all but done it
	}
	return t.Tx.Claim(ctx, s, c)
}

func fromStart(c driver.Claim) bool {
	for _, l := range c.Lanes {
		if l.Lane == storage.LaneNormal && l.After == (driver.Cursor{}) && c.NewerThan == 0 {
			return true
		}
	}
	return false
}

func walked(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.NewTimer(walk).C:
		return nil
	}
}

// tire makes the store of a live bench a tired one.
func (b *bench) tire() {
	b.store = &tired{Store: b.store, waker: &driver.Waker{}, far: fromStart}
}

// A long transaction makes look-backs slow. They go on beside what is due now.
func TestWhatIsDueDoesNotWaitForASlowLookBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		b.insert(b.ready("old", inner.Clock().Now().Add(-time.Hour)), b.ready("new", inner.Clock().Now()))
		b.many(2000, storage.Record{Key: "later", DueOn: inner.Clock().Now().Add(time.Hour)}) // so that old is not young
		b.tire()
		stop := b.run(work.Options{})
		pass(time.Second)
		synctest.Wait()
		b.must("new", "Done")
		b.must("old", "Ready")
		pass(walk)
		synctest.Wait()
		b.must("old", "Done")
		for key, late := range map[string]time.Duration{"first": 0, "second": time.Second, "third": 10 * time.Second} {
			pass(late)
			b.store = inner
			b.insert(b.ready(key, inner.Clock().Now()))
			pass(1100 * time.Millisecond)
			synctest.Wait()
			b.must(key, "Done")
		}
		_ = stop()
	})
}

// A row that another process makes due in the past is behind the cursor, and a
// look-back that is slow comes seldom.
func TestARowDueInThePastDoesNotWaitForASlowLookBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		now := inner.Clock().Now()
		b.insert(b.ready("a", now), b.ready("later", now.Add(time.Hour)))
		b.tire()
		stop := b.run(work.Options{})
		b.store = inner
		for _, key := range []string{"while it looks", "while it may not", "again"} {
			pass(5 * time.Second)
			b.insert(b.ready(key, now.Add(-time.Hour)))
			pass(3 * time.Second)
			synctest.Wait()
			b.must(key, "Done")
		}
		_ = stop()
	})
}

// A look-back that has just begun sees what is young.
func TestYoungRowsAreClaimedApartAfterAWhileOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		b.insert(b.ready("a", inner.Clock().Now()))
		var apart atomic.Int64
		b.store = &tired{Store: inner, waker: &driver.Waker{}, far: func(c driver.Claim) bool {
			if c.NewerThan != 0 {
				apart.Add(1)
			}
			return fromStart(c)
		}}
		stop := b.run(work.Options{})
		b.store = inner
		pass(900 * time.Millisecond)
		synctest.Wait()
		if n := apart.Load(); n != 0 {
			t.Errorf("%d claims of young rows while the first look-back had hardly begun", n)
		}
		pass(walk / 2)
		synctest.Wait()
		_ = stop()
		if apart.Load() == 0 {
			t.Error("young rows wait for the end of a slow look-back")
		}
	})
}

// What a look-back claims while the poller stops is not left to its lease.
func TestALookBackThatGoesOnWhileThePollerStopsKeepsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		b.insert(b.ready("old", inner.Clock().Now().Add(-time.Hour)))
		b.many(2000, storage.Record{Key: "later", DueOn: inner.Clock().Now().Add(time.Hour)}) // so it is not young
		b.tire()
		b.store.(*tired).deaf = true // the server had done it when it was told to stop
		stop := b.run(work.Options{Grace: time.Second})
		b.store = inner
		pass(walk - time.Millisecond)
		_ = stop()
		synctest.Wait()
		if got := b.get("old"); got.Status == "Busy" {
			t.Error("the row is held by nobody")
		}
	})
}

// What a quick lane has does not wait until another has been walked over.
func TestWhatALookBackFindsIsHandledWhileItGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		urgent := b.ready("urgent", inner.Clock().Now().Add(-time.Hour))
		urgent.Lane = storage.LaneUrgent
		b.insert(urgent, b.ready("old", inner.Clock().Now().Add(-time.Hour)))
		b.many(2000, storage.Record{Key: "later", DueOn: inner.Clock().Now().Add(time.Hour)}) // so that they are not young
		b.tire()
		stop := b.run(work.Options{})
		b.store = inner
		pass(time.Second)
		synctest.Wait()
		b.must("urgent", "Done")
		b.must("old", "Ready")
		_ = stop()
	})
}

// A lane whose look-backs are quick does not wait for those of another.
func TestEachLaneLooksBackAtItsOwnPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		b.tire()
		stop := b.run(work.Options{})
		b.store = inner
		pass(20 * time.Second)
		held := b.ready("held", inner.Clock().Now().Add(-time.Hour))
		held.Lane, held.Status, held.ClaimToken, held.LeaseExpiresOn = storage.LaneUrgent, "Busy", "of one who died", inner.Clock().Now().Add(30*time.Second)
		b.insert(held)
		pass(33 * time.Second)
		synctest.Wait()
		if got := b.get("held"); got.Note != "abandoned" && got.Status != "Done" {
			t.Errorf("%s, %q", got.Status, got.Note)
		}
		_ = stop()
	})
}

// A process that starts with a flood before it goes on with that, while it looks for the
// rows of others, which may be behind all of it.
func TestAFloodDoesNotWaitForTheLookBehindIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		inner, past := b.store, b.store.Clock().Now().Add(-time.Hour)
		b.many(20_000, storage.Record{Key: "f", Scope: "flood", Kind: "mail", DueOn: past})
		b.many(10, storage.Record{Key: "s", Scope: "small", Kind: "mail", DueOn: past.Add(time.Minute)})
		b.store = &tired{Store: inner, waker: &driver.Waker{}, far: func(c driver.Claim) bool {
			behind := func(l driver.LaneClaim) bool { return l.After.DueOn.Before(past.Add(time.Minute)) }
			return c.NewerThan == 0 && len(c.ExceptKinds) > 0 && slices.ContainsFunc(c.Lanes, behind)
		}}
		stop := b.run(work.Options{Lanes: map[int16]int{storage.LaneNormal: 1}}) // so that the first claim is full
		b.store = inner
		pass(20 * time.Millisecond) // it does not wait at all
		synctest.Wait()
		b.done(20_000, "of the flood", func(r *task) bool { return r.Scope == "flood" })
		pass(walk)
		synctest.Wait()
		_ = stop()
		b.done(10, "of the small scope", func(r *task) bool { return r.Scope == "small" })
	})
}

// Where looks are slow, who is behind a flood waits for one, and not for when the next
// would come by its pace.
func TestOthersBehindAFloodAreLookedForAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		inner, past := b.store, b.store.Clock().Now().Add(-time.Hour)
		b.many(20_000, storage.Record{Key: "f", Scope: "flood", Kind: "mail", DueOn: past})
		b.many(10, storage.Record{Key: "s", Scope: "small", Kind: "mail", DueOn: past.Add(time.Minute)})
		b.many(2000, storage.Record{Key: "later", Kind: "mail", DueOn: inner.Clock().Now().Add(time.Hour)}) // so that none is young
		b.tire()
		stop := b.run(work.Options{Lanes: map[int16]int{storage.LaneNormal: 1}})
		b.store = inner
		pass(3 * walk)
		synctest.Wait()
		_ = stop()
		b.done(20_000, "of the flood", func(r *task) bool { return r.Scope == "flood" })
		b.done(10, "of the small scope", func(r *task) bool { return r.Scope == "small" })
	})
}
