package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// keepResults is how long a result waits for a database that is away: without it the
// outcome of a call is unknown.
const keepResults = 15 * time.Minute

// outage remembers when the store last answered, and when it last took a write. After
// it was away for so long that leases could not be renewed, those that ran out meanwhile
// are left alone for one lease: their owners may live, and hold results. The zero value
// has heard nothing.
type outage struct {
	mu      sync.Mutex
	away    bool      // a read has failed
	failed  bool      // a write has failed: reads prove nothing until one succeeds
	refused bool      // a write did not get its lock, or waited long: reads proved nothing before
	heard   instant   // when anything was answered
	wrote   instant   // when a transaction could write
	waits   time.Time // until then, monotonic, only leases that ran out by spared are taken over
	spared  time.Time
}

// instant is a moment on two clocks: the monotonic one and the store's.
type instant struct{ mono, on time.Time }

// heard takes in what a read of the store came to.
func (r *runner[R, A]) heard(err error) {
	o := &r.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case gone(err):
		o.away = true
	case err == nil && !o.failed && !o.refused:
		r.back(o.away, o.heard)
	}
}

// wrote takes in what a transaction of the store came to that was begun then.
func (r *runner[R, A]) wrote(begun time.Time, err error) {
	if err == nil {
		r.admitted(begun)
		return
	}
	o := &r.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = o.failed || gone(err)
	o.refused = o.refused || errors.Is(err, storage.ErrBusy)
}

// admitted says that a transaction that was begun then may write now. While it waited
// for a lock, others could not renew their leases either.
func (r *runner[R, A]) admitted(begun time.Time) {
	o := &r.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	since := o.heard
	if o.refused || r.mono.Now().Sub(begun) > r.o.Lease/4 {
		o.refused, since = true, o.wrote
	}
	r.back(o.away || o.failed || o.refused, since)
	o.wrote = o.heard
}

// back says that the store answers. If it did not since then, leases are spared.
func (r *runner[R, A]) back(wasAway bool, since instant) {
	o, now := &r.outage, instant{r.mono.Now(), r.now()}
	if wasAway && now.mono.Sub(since.mono) > r.o.Lease/2 {
		o.waits, o.spared = now.mono.Add(r.o.Lease), since.on
		if o.spared.IsZero() {
			o.spared = time.Unix(0, 0) // it was away from the start
		}
	}
	o.away, o.failed, o.refused, o.heard = false, false, false, now
}

func gone(err error) bool {
	return errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) || errors.Is(err, context.DeadlineExceeded)
}

// expired bounds the leases that may be taken over now; zero: none is spared.
func (r *runner[R, A]) expired() time.Time {
	r.outage.mu.Lock()
	defer r.outage.mu.Unlock()
	if r.mono.Now().Before(r.outage.waits) {
		return r.outage.spared
	}
	return time.Time{}
}
