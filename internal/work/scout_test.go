package work_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// alone is a store whose claims keep other writers out while they look, so that what may
// look at very many rows has to scout.
type alone struct {
	*tired
	scouted atomic.Int64
	blind   atomic.Int64 // long claims that did not
	parts   bool         // looks have two parts, of which the second takes no time
	mu      sync.Mutex
	looks   [][2]time.Time // when the first part began, and the second
}

var errRollBack = errors.New("only a look")

func (s *alone) Scout(ctx context.Context, schema *driver.Schema, c driver.Claim) (ids []int64, _ bool, err error) {
	s.scouted.Add(1)
	if s.parts && c.Rest != nil {
		from := s.Clock().Now()
		defer func() {
			c.Rest(ctx)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.looks = append(s.looks, [2]time.Time{from, s.Clock().Now()})
		}()
	}
	err = s.tired.InTx(ctx, func(tx storage.Tx) error {
		c.Token, c.LeaseUntil = "of a scout", c.Now.Add(time.Minute)
		rows, err := tx.Claim(ctx, schema, c)
		for _, r := range rows {
			ids = append(ids, driver.RecordOf(r).ID)
		}
		return errors.Join(err, errRollBack)
	})
	if errors.Is(err, errRollBack) && !errors.Is(err, errWalk) {
		err = nil
	}
	return ids, true, err
}

func (s *alone) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(aloneTx{tx, s}) })
}

type aloneTx struct {
	storage.Tx
	s *alone
}

func (t aloneTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	if (c.Long || c.NewerThan != 0) && len(c.IDs) == 0 {
		t.s.blind.Add(1)
	}
	return t.Tx.Claim(ctx, s, c)
}

// While somebody walks over very many rows, others write: whoever would keep them out
// looks by reading first, and claims what he has found.
func TestALongLookKeepsNobodyFromWriting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		now := inner.Clock().Now()
		b.insert(b.ready("old", now.Add(-time.Hour)))
		b.many(2000, storage.Record{Key: "later", DueOn: now.Add(time.Hour)}) // so that old is not young
		s := &alone{tired: &tired{Store: inner, waker: &driver.Waker{}, far: fromStart}}
		b.store = s
		stop := b.run(work.Options{})
		b.store = inner
		pass(walk + time.Second)
		b.insert(b.ready("young", now.Add(-time.Hour)))
		pass(3 * time.Second)
		synctest.Wait()
		b.must("old", "Done")
		b.must("young", "Done")
		_ = stop()
		if s.blind.Load() > 0 || s.scouted.Load() == 0 {
			t.Errorf("%d long claims found their rows while they kept others out; %d looks", s.blind.Load(), s.scouted.Load())
		}
	})
}

// Between its parts a long look rests for three times as long as it has worked. That does
// not make it longer, so that the next one comes as soon.
func TestALongLookRestsBetweenItsParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		inner := b.store
		s := &alone{tired: &tired{Store: inner, waker: &driver.Waker{}, far: fromStart}, parts: true}
		b.store = s
		stop := b.run(work.Options{Lanes: map[int16]int{storage.LaneNormal: 1}})
		b.store = inner
		pass(30 * walk)
		_ = stop()
		if len(s.looks) != 2 {
			t.Fatalf("%d looks: %v", len(s.looks), s.looks)
		}
		first, second := s.looks[0], s.looks[1]
		if rested := first[1].Sub(first[0]) - walk; rested != 3*walk {
			t.Errorf("it rested for %v", rested)
		}
		if after := second[0].Sub(first[1]); after < 20*walk || after > 21*walk {
			t.Errorf("the next one came after %v", after)
		}
	})
}

// delayed is a store whose claims take a while.
type delayed struct {
	storage.Store
	by time.Duration
}

func (s delayed) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(delayedTx{tx, s.by}) })
}

type delayedTx struct {
	storage.Tx
	by time.Duration
}

func (t delayedTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	pass(t.by)
	return t.Tx.Claim(ctx, s, c)
}

// What a claim has found is handled at once, and not behind the look-back that follows.
func TestWhatIsFoundDoesNotWaitForTheLookBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		clk := b.store.Clock()
		const claim = 10 * time.Millisecond
		b.store = delayed{b.store, claim}
		b.insert(b.ready("first", clk.Now()))
		stop := b.run(work.Options{})
		pass(30 * time.Second)
		var began time.Time
		b.handle = func(context.Context, work.Item[task]) error { began = clk.Now(); return nil }
		said := clk.Now()
		b.insert(b.ready("second", said))
		pass(time.Second)
		synctest.Wait()
		b.must("second", "Done")
		if took := began.Sub(said); took != claim {
			t.Errorf("handled after %v, want the %v of one claim", took, claim)
		}
		_ = stop()
	})
}

// watched notes how patient those are who ask for transactions, and what claims of a
// flood bring.
type watched struct {
	storage.Store
	mu    sync.Mutex
	flood []int     // rows of its claims
	wrong int       // claims of a flood that go before others, or the other way round
	walks int       // claims of others that go over the rows of the flood
	over  time.Time // when its last row was due
}

func (s *watched) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(watchedTx{tx, s}) })
}

type watchedTx struct {
	storage.Tx
	s *watched
}

func (t watchedTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	from, normal := time.Time{}, false
	for _, l := range c.Lanes {
		if l.Lane == storage.LaneNormal {
			from, normal = l.After.DueOn, true
		}
	}
	if len(c.ExceptKinds) > 0 && normal && from.IsZero() {
		return nil, nil // a look-back that has not come so far
	}
	rows, err := t.Tx.Claim(ctx, s, c)
	if driver.IsPatient(ctx) != (c.Scopes != nil) {
		t.s.wrong++
	}
	if len(c.ExceptKinds) > 0 && normal && from.Before(t.s.over) {
		t.s.walks++
	}
	if c.Scopes != nil {
		t.s.flood = append(t.s.flood, len(rows))
	}
	return rows, err
}

// A flood goes behind others: it says so to the store, and claims a little at a time
// while others have rows.
func TestAFloodGoesBehindOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		past := b.store.Clock().Now().Add(-time.Hour)
		b.many(40_000, storage.Record{Key: "f", Scope: "flood", Kind: "mail", DueOn: past})
		first := b.ready("first", b.store.Clock().Now())
		first.Scope, first.Kind = "small", "mail"
		b.insert(first)
		var wrong, patient atomic.Int64
		b.handle = func(ctx context.Context, it work.Item[task]) error {
			// The first claims take it for one like others.
			waits := driver.IsPatient(ctx)
			if waits != driver.IsPatient(it.Ctx) || waits && it.Row.Scope != "flood" {
				wrong.Add(1)
			}
			if waits {
				patient.Add(1)
			}
			pass(time.Millisecond)
			return nil
		}
		inner := b.store
		s := &watched{Store: inner, over: past.Add(time.Second)}
		b.store = s
		stop := b.run(work.Options{})
		b.store = inner
		for i := range 20 {
			small := b.ready("small", inner.Clock().Now())
			small.Scope, small.Kind, small.Key = "small", "mail", string(rune('a'+i))
			b.insert(small)
			pass(100 * time.Millisecond)
		}
		synctest.Wait()
		s.mu.Lock()
		beside := s.flood
		s.flood = nil
		s.mu.Unlock()
		pass(time.Minute)
		synctest.Wait()
		_ = stop()
		most := func(of []int) (n int) {
			for _, rows := range of {
				n = max(n, rows)
			}
			return n
		}
		if most(beside) > 250 || most(beside) == 0 || most(s.flood) <= 250 {
			t.Errorf("claims of the flood: %d rows beside others, %d alone", most(beside), most(s.flood))
		}
		if s.walks > 0 {
			t.Errorf("%d claims of others walk over the flood", s.walks)
		}
		if s.wrong+int(wrong.Load()) > 0 || patient.Load() == 0 {
			t.Errorf("%d claims and %d handlers do not say that they are patient, or say so without need", s.wrong, wrong.Load())
		}
		b.done(40_000, "of the flood", func(r *task) bool { return r.Scope == "flood" })
		b.done(21, "of the small scope", func(r *task) bool { return r.Scope == "small" })
	})
}

// peeked counts the peeks into what is due.
type peeked struct {
	storage.Store
	peeks atomic.Int64
	takes time.Duration
}

func (s *peeked) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, until time.Time) (time.Time, error) {
	s.peeks.Add(1)
	pass(s.takes)
	return s.Store.Next(ctx, schema, c, until)
}

// A flood that is alone pays little for others, whatever a look for them takes: they are
// looked for now and then, and what is found waits no longer than that.
func TestAFloodAloneLooksForOthersNowAndThen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		takes time.Duration // a peek
		most  int64         // peeks a second
		waits time.Duration
	}{
		"quickly":  {0, 25, 80 * time.Millisecond},
		"slowly":   {8 * time.Millisecond, 8, 200 * time.Millisecond},
		"too slow": {100 * time.Millisecond, 6, 400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { looksForOthers(t, tt.takes, tt.most, tt.waits) })
		})
	}
}

func looksForOthers(t *testing.T, takes time.Duration, most int64, waits time.Duration) {
	b := newLive(t)
	b.spec.Types = func() []string { return []string{"mail"} }
	clk := b.store.Clock()
	b.many(20_000, storage.Record{Key: "f", Scope: "flood", Kind: "mail", DueOn: clk.Now().Add(-time.Hour)})
	var began time.Time
	b.handle = func(_ context.Context, it work.Item[task]) error {
		if it.Row.Scope == "small" {
			began = clk.Now()
		}
		return nil
	}
	inner := b.store
	s := &peeked{Store: delayed{inner, 10 * time.Millisecond}, takes: takes}
	b.store = s
	stop := b.run(work.Options{Batch: 100}) // lasts for two seconds of claims
	b.store = inner
	pass(time.Second)
	synctest.Wait()
	if n := s.peeks.Load(); n == 0 || n > most {
		t.Errorf("%d peeks in a second, want at most %d", n, most)
	}
	small := b.ready("small", clk.Now())
	small.Scope, small.Kind = "small", "mail"
	b.insert(small)
	said := clk.Now()
	pass(time.Second)
	synctest.Wait()
	if took := began.Sub(said); began.IsZero() || took > waits {
		t.Errorf("handled after %v, want %v", took, waits)
	}
	_ = stop()
}

// A flood that has no room but for what is urgent claims nothing for nothing, and what
// is urgent goes at once.
func TestAFloodWithoutRoomClaimsOnlyWhatIsUrgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		clk := b.store.Clock()
		b.many(10_000, storage.Record{Key: "f", Scope: "flood", Kind: "mail", DueOn: clk.Now().Add(-time.Hour)})
		letGo := b.hanging(func(row *task) bool { return row.Lane != storage.LaneUrgent })
		const batch = 100
		var claims atomic.Int64 // of a whole batch of what is urgent only; a look-back takes a quarter
		inner := b.store
		b.store = &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
			if len(c.Lanes) == 1 && c.Lanes[0].Lane == storage.LaneUrgent && c.Lanes[0].Limit == batch {
				claims.Add(1)
			}
			return nil
		}}
		stop := b.run(work.Options{Batch: batch, InFlight: 4 * batch})
		b.store = inner
		pass(2 * time.Second)
		synctest.Wait()
		if n := claims.Load(); n > 0 {
			t.Errorf("%d claims for what is urgent, and nothing was", n)
		}
		urgent := b.ready("urgent", clk.Now())
		urgent.Scope, urgent.Kind, urgent.Lane = "flood", "mail", storage.LaneUrgent
		b.insert(urgent)
		pass(100 * time.Millisecond)
		synctest.Wait()
		b.done(1, "that is urgent", func(row *task) bool { return row.Lane == storage.LaneUrgent })
		letGo()
		_ = stop()
	})
}

// A peek from the start sees whether there is anything behind the cursor at all.
func TestARowThatIsDueNowIsOneClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		clk := b.store.Clock()
		var claims atomic.Int64
		inner := b.store
		b.store = &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
			if len(c.Lanes) > 0 {
				claims.Add(1)
			}
			return nil
		}}
		stop := b.run(work.Options{})
		b.store = inner
		pass(2 * time.Second)
		claims.Store(0)
		const rows = 5
		for i := range rows {
			b.insert(b.ready(fmt.Sprint("row", i), clk.Now()))
			pass(2 * time.Second)
		}
		b.done(rows, "due one after the other", func(*task) bool { return true })
		if n := claims.Load(); n != rows {
			t.Errorf("%d claims for %d rows", n, rows)
		}
		b.insert(b.ready("before them", clk.Now().Add(-time.Minute)))
		pass(2 * time.Second)
		b.done(rows+1, "one of them behind the cursor", func(*task) bool { return true })
		_ = stop()
	})
}
