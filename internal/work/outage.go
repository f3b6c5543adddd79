package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// keepResults is how long a result waits for a database that is away: without it
// nobody knows what became of a call.
const keepResults = 15 * time.Minute

// outage remembers when the store last answered. After it was away for so long that
// leases could not be renewed, those that ran out meanwhile are left alone for one
// lease: their owners may live, and hold results. The zero value has heard nothing.
type outage struct {
	mu      sync.Mutex
	away    bool
	heard   time.Time // by the monotonic clock
	heardOn time.Time // by the store's
	waits   time.Time // until then, monotonic, only leases that ran out by spared are taken over
	spared  time.Time
}

// hear takes in what a call of the store came to.
func (r *runner[R, A]) hear(err error) {
	o, mono := &r.outage, r.mono.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case gone(err):
		o.away = true
	case err == nil:
		if o.away && mono.Sub(o.heard) > r.o.Lease/2 {
			o.waits, o.spared = mono.Add(r.o.Lease), o.heardOn
			if o.spared.IsZero() {
				o.spared = time.Unix(0, 0) // it was away from the start
			}
		}
		o.away, o.heard, o.heardOn = false, mono, r.now()
	}
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
