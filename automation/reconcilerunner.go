package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// reconcileRunner makes sure of the rows of scans that its pass works on, once for
// each type and scope, and rests while there is no reminder type.
type reconcileRunner struct {
	inner work.Runner
	s     *core
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
	if names, _ := r.s.registry.kept(); len(names) == 0 {
		return work.Report{}, nil
	}
	if err := r.makeRows(ctx); err != nil {
		return work.Report{}, err
	}
	return r.inner.Poll(ctx, batch)
}

// Liveness is none while there is no reminder type.
func (r *reconcileRunner) Liveness() []work.Liveness {
	if names, _ := r.s.registry.kept(); len(names) == 0 {
		return nil
	}
	return r.inner.Liveness()
}

func (r *reconcileRunner) Run(ctx context.Context) error {
	for names, added := r.s.registry.kept(); len(names) == 0; names, added = r.s.registry.kept() {
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

// wait ends with ctx, when a type is added, or, without added, after a while; after a
// minute where a type lists its scopes anew.
func (r *reconcileRunner) wait(ctx context.Context, added <-chan struct{}) {
	var again <-chan time.Time
	switch {
	case added == nil:
		again = r.s.store.Clock().After(rowsRetry)
	case r.s.registry.listsScopes():
		again = r.s.store.Clock().After(minScanEvery)
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
	missing := r.missing(ctx)
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
func (r *reconcileRunner) missing(ctx context.Context) (rows []reconciliation) {
	names, _ := r.s.registry.scans()
	for _, name := range names {
		t, _ := r.s.registry.reminder(name)
		scopes, err := t.Scan.allowed(ctx)
		if err != nil {
			r.s.opts.Logger.WarnContext(ctx, "belfry: reconciliation cannot begin", "type", name, "error", err)
			continue
		}
		maps.DeleteFunc(r.known, func(at place, _ bool) bool { return at.name == name && !slices.Contains(scopes, at.scope) })
		for _, scope := range scopes {
			if r.known[place{scope, name}] {
				continue
			}
			row := reconciliation{Due: driver.Due{Record: storage.Record{Scope: scope, Key: name, Kind: name, Status: reconcileReady}}}
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

// allowed lists the scopes that are scanned.
func (c *Scan) allowed(ctx context.Context) ([]Scope, error) {
	if c.ScopesOf != nil {
		return c.ScopesOf(ctx)
	}
	return c.Scopes, nil
}

// allows reports whether the scope is on the list.
func (c *Scan) allows(ctx context.Context, scope Scope) (bool, error) {
	scopes, err := c.allowed(ctx)
	return slices.Contains(scopes, scope), err
}

// scopeList remembers the answer of a Scan's ScopesOf for a minute.
type scopeList struct {
	ask func(context.Context) ([]Scope, error)
	now func() time.Time

	mu     sync.Mutex
	known  bool
	scopes []Scope
	on     time.Time // when it was asked
}

func (l *scopeList) get(ctx context.Context) ([]Scope, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known && l.now().Before(l.on.Add(minScanEvery)) {
		return l.scopes, nil
	}
	var scopes []Scope
	err := work.Guard(func() (err error) {
		scopes, err = l.ask(ctx)
		return err
	})
	if err == nil {
		err = checkScopes(scopes)
	}
	switch {
	case err == nil:
		l.known, l.scopes, l.on = true, slices.Clone(scopes), l.now()
	case l.known:
		return l.scopes, nil
	default:
		return nil, fmt.Errorf("automation: the Scan's ScopesOf: %w", err)
	}
	return l.scopes, nil
}

// checkScopes refuses lists that name what cannot exist.
func checkScopes(scopes []Scope) error {
	for i, scope := range scopes {
		if field, err := checkTenancy(scope, ""); err != nil || slices.Contains(scopes[:i], scope) {
			return errors.Join(fmt.Errorf("the Scan's %s %d is named twice or cannot be one", cmp.Or(field, "Scope"), i), err)
		}
	}
	return nil
}

// listsScopes reports whether a type has a Scan with ScopesOf.
func (r *registry) listsScopes() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.ContainsFunc(r.scanned, func(name string) bool { return r.reminders[name].Scan.ScopesOf != nil })
}
