package work

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
)

// realClock paces what a mock clock must not stop: heartbeats, look-backs, the
// coalescing of settles. It never says what is due.
var realClock = clock.New()

type pass[R, A any] struct {
	store storage.Store
	spec  Spec[R, A]
}

// New makes the pass that spec describes on a store.
func New[R, A any](store storage.Store, spec Spec[R, A]) Pass {
	if spec.Group == 0 {
		spec.Group = 50
	}
	return &pass[R, A]{store, spec}
}

func (p *pass[R, A]) Name() string { return p.spec.Name }

func (p *pass[R, A]) Runner(o Options) Runner {
	o = o.withDefaults()
	return &runner[R, A]{
		store: p.store, spec: p.spec, o: o, mono: realClock,
		lanes: newLanes(o.Lanes), look: lookBack{clock: realClock},
		flights: newFlights[R](), tel: newTelemetry(p.spec.Name, o),
	}
}

// runner is a pass in one poller. The store's clock says what is due; mono, a
// real clock, paces heartbeats and look-backs, which a mock clock must not stop.
type runner[R, A any] struct {
	store storage.Store
	spec  Spec[R, A]
	o     Options
	mono  clock.Clock
	tel   *telemetry

	mu     sync.Mutex // guards what follows: one claim at a time
	lanes  lanes
	look   lookBack
	except Except      // as of the last time that somebody asked
	asked  bool        // in this poll
	hot    atomic.Bool // the last claim was full, so the next one needs no peek

	flights   *flights[R]
	scratches sync.Pool // of *copies[R]
}

func (r *runner[R, A]) now() time.Time { return storage.Now(r.store) }

func (r *runner[R, A]) rec(row *R) *storage.Record { return r.spec.Table.Record(row) }
