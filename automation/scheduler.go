package automation

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Scheduler keeps due work and hands it to delivery. Its methods may be called
// from any number of goroutines; any number of schedulers, in any number of
// processes, may work on one store.
type Scheduler struct {
	store    storage.Store
	tx       storage.Tx // set in a bound copy
	out      notify.DeliveryDispatcher
	opts     Options
	registry *registry
	tel      *telemetry
}

// New returns a scheduler on store whose notifications go to out, usually a
// *notify.Notifier on the same store. opts may be nil. It panics if store or out
// is.
func New(store storage.Store, out notify.DeliveryDispatcher, opts *Options) *Scheduler {
	if store == nil || out == nil {
		panic("automation: New needs a store and a dispatcher")
	}
	o := opts.withDefaults()
	return &Scheduler{store: store, out: out, opts: o, registry: newRegistry(), tel: newTelemetry(o)}
}

// WithTx returns a copy of s whose Ensure, HandleEvent, Explain and support
// actions belong to tx, a transaction of the same store: they commit or vanish
// with it. Types that s registers are the copy's as well. It panics on a
// transaction of another store.
//
// In a joined transaction of the host a [*notify.ConflictError] leaves the
// transaction usable, and any other error means that it has to be rolled back.
func (s *Scheduler) WithTx(tx storage.Tx) *Scheduler {
	if tx == nil || tx.Store() != s.store {
		panic("automation: WithTx needs a transaction of the scheduler's own store")
	}
	bound := *s
	bound.tx = tx
	return &bound
}

// InTx runs f with a copy of s that is bound to a transaction: the one that s is
// bound to, or one of its own, which commits if f returns nil. f may run again.
func (s *Scheduler) InTx(ctx context.Context, f func(bound *Scheduler, tx storage.Tx) error) error {
	return s.inTx(ctx, func(tx storage.Tx) error {
		bound := *s
		bound.tx = tx
		return f(&bound, tx)
	})
}

// inTx runs f in the bound transaction, or in one of its own. f may run again.
func (s *Scheduler) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	return s.store.InTx(ctx, f)
}

func (s *Scheduler) now() time.Time { return storage.Now(s.store) }

// Passes is what a Poller runs: the pass over due rows of the types that are
// registered here, the same for runs of reports, the one that reconciles the types
// with a [Scan], and the one that deletes old rows. The last three rest while
// there is nothing for them.
func (s *Scheduler) Passes() []work.Pass {
	return []work.Pass{s.duePass(), reportPass{s}, reconcilePass{s}, s.retentionPass()}
}

// States gives the state machines of this package, for the documentation.
func States() []states.Machine { return []states.Machine{machine, ownershipMachine} }

// Schemas lists the tables of this package, so that adapters' tests can compare
// them with a live database.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		&schedules.Schema, &sources.Schema, &seriesTable.Schema, &thresholdStates.Schema, &walks.Schema, &pauses.Schema,
		&reconciliations.Schema, &ownerships.Schema, &rollouts.Schema, &audit.Table.Schema,
	}
}
