package automation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// ReconcileOptions are the settings of [Scheduler.Reconcile]; nil is the zero
// value.
type ReconcileOptions struct {
	// DryRun finds the differences and writes nothing at all.
	DryRun bool
	// FromStart looks at every active source in the due window. Without it only
	// what changed since the last completed background run is looked at, or is new
	// in the window.
	FromStart bool
}

// Reconcile runs one whole reconciliation of a reminder type in one of its
// scopes here and now, page by page, and says what it did (Automation &
// Reminders, "Bounded reconciliation"). It is for what no event of a source
// tells: changed settings (offsets, time of sending, zone, a setting that is
// switched off) reach the sources that exist by a run FromStart. And it is for
// operators, who look at a DryRun first.
//
// Runs in the background are a pass of the Poller; this one leaves their
// watermark, cursor and lease alone and may run beside them, since each repair
// takes the row of its source. The error is for a type without a [Scan], a scope
// that it does not allow, a bound scheduler, and for a page that failed: then
// the pages before it are done, and the report counts them.
func (s *Scheduler) Reconcile(ctx context.Context, scope Scope, name string, opts *ReconcileOptions) (ReconcileReport, error) {
	var o ReconcileOptions
	if opts != nil {
		o = *opts
	}
	t, _ := s.registry.reminder(name)
	switch {
	case s.tx != nil:
		return ReconcileReport{}, errors.New("automation: Reconcile has transactions of its own, so it cannot be bound to one")
	case t.Scan == nil:
		return ReconcileReport{}, fmt.Errorf("automation: Reconcile: no reminder type %.40q with a Scan is registered here", name)
	case !t.Scan.allows(scope):
		return ReconcileReport{}, fmt.Errorf("automation: Reconcile: the Scan of %s does not allow scope %.40q", name, scope)
	}
	r, err := s.beginNow(ctx, scope, t, o)
	for cursor, done := "", false; err == nil && !done; {
		var p *scannedPage
		if p, err = s.reconcilePage(ctx, t, &r, cursor); err == nil {
			r.list(p)
			cursor, done = p.next, p.done
		}
	}
	r.Duration = s.now().Sub(r.StartedOn)
	if !o.DryRun && err == nil {
		s.reconciled(ctx, r)
	}
	return r, err
}

// beginNow reads from where on a run has to look.
func (s *Scheduler) beginNow(ctx context.Context, scope Scope, t ReminderType, o ReconcileOptions) (ReconcileReport, error) {
	var since time.Time
	var covered string
	var err error
	if !o.FromStart {
		err = s.store.InTx(ctx, func(tx storage.Tx) error {
			row, err := reconciliations.Get(ctx, tx, scope, t.Name)
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			if err == nil {
				since, covered = row.Watermark, row.CoveredUntil
			}
			return err
		})
	}
	r := begin(s.now(), scope, t, since, covered)
	r.DryRun = o.DryRun
	return r, err
}
