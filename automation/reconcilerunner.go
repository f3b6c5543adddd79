package automation

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// reconcileRunner makes sure of the rows that its pass works on, once for each
// type and scope, and rests while there are none.
type reconcileRunner struct {
	inner work.Runner
	s     *Scheduler
	mu    sync.Mutex
	known map[place]bool
}

// place is where a reminder type is scanned.
type place struct {
	scope Scope
	name  string
}

// rowsRetry is how long a runner waits before it tries again to make its rows.
const rowsRetry = 10 * time.Second

func (r *reconcileRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	if names, _ := r.s.registry.scans(); len(names) == 0 {
		return work.Report{}, nil
	}
	if err := r.makeRows(ctx); err != nil {
		return work.Report{}, err
	}
	return r.inner.Poll(ctx, batch)
}

func (r *reconcileRunner) Run(ctx context.Context) error {
	for names, added := r.s.registry.scans(); len(names) == 0; names, added = r.s.registry.scans() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-added:
		}
	}
	var keeping sync.WaitGroup
	keeping.Go(func() { r.keepRows(ctx) })
	defer keeping.Wait()
	return r.inner.Run(ctx)
}

// keepRows makes the rows of all types, also of those that are registered later.
func (r *reconcileRunner) keepRows(ctx context.Context) {
	for ctx.Err() == nil {
		_, added := r.s.registry.scans()
		if err := r.makeRows(ctx); err != nil && ctx.Err() == nil {
			r.s.opts.Logger.WarnContext(ctx, "belfry: reconciliation cannot begin", "error", err)
			added = nil
		}
		r.wait(ctx, added)
	}
}

// wait ends with ctx, when a type is added, or, without added, after a while.
func (r *reconcileRunner) wait(ctx context.Context, added <-chan struct{}) {
	var again <-chan time.Time
	if added == nil {
		timer := r.s.store.Clock().Timer(rowsRetry)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-ctx.Done():
	case <-added:
	case <-again:
	}
}

// makeRows makes the rows that this runner has not seen.
func (r *reconcileRunner) makeRows(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := r.missing()
	if len(missing) == 0 {
		return nil
	}
	err := r.s.store.InTx(ctx, func(tx storage.Tx) error {
		wants := make([]*reconciliation, len(missing))
		for i, row := range missing { // the transaction may run again
			wants[i] = &row
		}
		_, err := reconciliations.Ensure(ctx, tx, reviveScan, wants...)
		return err
	})
	for _, row := range missing {
		r.known[place{row.Scope, row.Key}] = err == nil
	}
	return err
}

// missing are the rows that this runner has not seen. A new one is due within a
// tenth of its period, so that the tenants of a new type do not come at once.
func (r *reconcileRunner) missing() (rows []reconciliation) {
	names, _ := r.s.registry.scans()
	for _, name := range names {
		t, _ := r.s.registry.reminder(name)
		for _, scope := range t.Scan.Scopes {
			if r.known[place{scope, name}] {
				continue
			}
			row := reconciliation{Record: storage.Record{Scope: scope, Key: name, Type: name, Status: reconcileReady}}
			row.DueOn = r.s.now().Add(row.period(t.Scan.Every) - t.Scan.Every)
			rows = append(rows, row)
		}
	}
	return rows
}

// reviveScan lets a scope that is allowed again be scanned from where it was.
func reviveScan(stored, want *reconciliation) (storage.Outcome, bool) {
	if stored.Status != reconcileOff {
		return storage.Unchanged, false
	}
	stored.Status, stored.DueOn = reconcileReady, want.DueOn
	return storage.Reactivated, true
}
