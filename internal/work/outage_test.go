package work_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// away is a store that cannot be reached while down says so.
func away(store storage.Store, down *atomic.Bool) *storetest.Spy {
	return &storetest.Spy{Store: store, Hook: func(c storetest.Call) error {
		if down.Load() && (c.Verb == storetest.Begin || c.Verb == storetest.Next) {
			return storage.ErrUnavailable
		}
		return nil
	}}
}

// I-10: what a finished call has come to outlives the lease: with it would go the
// only knowledge of whether the provider has the message.
func TestAResultIsKeptWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.insert(b.ready("a", b.store.Clock().Now()))
		inner := b.store
		var down atomic.Bool
		b.store = away(inner, &down)
		b.handle = func(context.Context, work.Item[task]) error {
			down.Store(true)
			return nil
		}
		stop := b.run(work.Options{Lease: time.Minute, Grace: time.Second})
		b.store = inner
		pass(14 * time.Minute)
		down.Store(false)
		pass(5 * time.Second)
		_ = stop()
		if got := b.get("a"); got.Status != "Done" || len(b.seen) != 1 {
			t.Errorf("%s after %d calls: %s", got.Status, len(b.seen), got.Note)
		}
	})
}

// A lease that ran out while nobody could renew it says nothing about its owner, who
// has one more to come back with what he knows. Others are taken over at once.
func TestALeaseThatRanOutInAnOutageIsLeftToItsOwner(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]func(store storage.Store, is *atomic.Bool) *storetest.Spy{
		"the database is away": away,
		"another process keeps the lock, and whoever waits is told": func(store storage.Store, is *atomic.Bool) *storetest.Spy {
			return locked(store, is, func() error { return storage.ErrBusy })
		},
		"another process keeps the lock, and who came first gets it first": func(store storage.Store, is *atomic.Bool) *storetest.Spy {
			return locked(store, is, inTurn(is, func(turn int64) int64 { return turn }))
		},
		"another process keeps the lock, and who came last gets it first": func(store storage.Store, is *atomic.Bool) *storetest.Spy {
			return locked(store, is, inTurn(is, func(turn int64) int64 { return 5 - turn }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			often(t, func(t *testing.T) { leftToItsOwner(t, down, false) })
		})
		t.Run(name+", beside a row whose lease is renewed", func(t *testing.T) {
			t.Parallel()
			often(t, func(t *testing.T) { leftToItsOwner(t, down, true) })
		})
	}
}

// often plays a story as many times as it takes for a claim and a renewal to come in
// either order, which is the scheduler's choice.
func often(t *testing.T, story func(t *testing.T)) {
	for range 10 {
		synctest.Test(t, story)
	}
}

// locked is a store that can be read, and that nobody can write to while is says so.
func locked(store storage.Store, is *atomic.Bool, wait func() error) *storetest.Spy {
	return &storetest.Spy{Store: store, Hook: func(c storetest.Call) error {
		if is.Load() && c.Verb == storetest.Begin {
			return wait()
		}
		return nil
	}}
}

// inTurn waits while is says so, and as many seconds longer as seconds has for the
// turn in which it was called.
func inTurn(is *atomic.Bool, seconds func(turn int64) int64) func() error {
	var came atomic.Int64
	return func() error {
		turn := came.Add(1)
		for is.Load() {
			pass(time.Second)
		}
		pass(time.Duration(seconds(turn)) * time.Second)
		return nil
	}
}

func leftToItsOwner(t *testing.T, away func(storage.Store, *atomic.Bool) *storetest.Spy, renews bool) {
	b := newLive(t)
	now := b.store.Clock().Now()
	held := func(key string, lease time.Duration) task {
		row := b.ready(key, now.Add(9*time.Second)) // ahead of what was claimed before
		row.Status, row.ClaimToken, row.LeaseExpiresOn = "Busy", "another's", now.Add(lease)
		return row
	}
	inner := b.store
	var down atomic.Bool
	b.store = away(inner, &down)
	b.insert(b.ready("the last write before it", now.Add(8*time.Second)))
	if renews {
		b.insert(b.ready("in hand", now))
		b.handle = func(ctx context.Context, it work.Item[task]) error {
			if it.Row.Key == "in hand" {
				<-ctx.Done()
			}
			return nil
		}
	}
	stop := b.run(work.Options{Lease: time.Minute})
	b.store = inner
	pass(10 * time.Second)
	down.Store(true)
	b.insert(held("in the outage", 30*time.Second), held("before it", 5*time.Second))
	pass(5 * time.Minute)
	down.Store(false)
	pass(20 * time.Second)
	b.must("before it", "Ready")
	b.must("in the outage", "Busy")
	pass(time.Minute)
	_ = stop()
	if got := b.get("in the outage"); got.Note != "abandoned" {
		t.Errorf("%+v", got)
	}
}
