package work

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// flight is a row in the hands of this runner.
type flight struct {
	id      int64
	token   string
	ctx     context.Context
	cancel  context.CancelFunc
	expires time.Time // on the monotonic clock
}

// flights are the rows claimed and not yet settled.
type flights[R any] struct {
	mu    sync.Mutex
	rows  map[int64]*flight
	freed chan struct{} // receives after rows were removed
}

func newFlights[R any]() *flights[R] {
	return &flights[R]{rows: map[int64]*flight{}, freed: make(chan struct{}, 1)}
}

func (f *flights[R]) add(ctx context.Context, rec *storage.Record, expires time.Time) *flight {
	fl := &flight{id: rec.ID, token: rec.ClaimToken, expires: expires}
	fl.ctx, fl.cancel = context.WithCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.rows[rec.ID]; old != nil {
		old.cancel() // its lease ran out unnoticed, and we took the row over
	}
	f.rows[rec.ID] = fl
	return fl
}

// remove forgets a flight, unless the row is in a newer one by now.
func (f *flights[R]) remove(rec *storage.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl := f.rows[rec.ID]; fl != nil && fl.token == rec.ClaimToken {
		fl.cancel()
		delete(f.rows, rec.ID)
	}
	select {
	case f.freed <- struct{}{}:
	default:
	}
}

func (f *flights[R]) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rows)
}

func (f *flights[R]) all() []*flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*flight, 0, len(f.rows))
	for _, fl := range f.rows {
		all = append(all, fl)
	}
	return all
}

// renewed notes a new expiry, or ends a flight whose lease is lost, and tells
// whether it did; one that was settled meanwhile has no lease to lose.
func (f *flights[R]) renewed(fl *flight, lost bool, expires time.Time) (ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lost {
		fl.cancel()
		return f.rows[fl.id] == fl
	}
	fl.expires = expires
	return false
}

// expire ends the flights that nobody could renew in time: their leases may be
// in other hands by now.
func (f *flights[R]) expire(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range f.rows {
		if now.After(fl.expires) {
			fl.cancel()
		}
	}
}
