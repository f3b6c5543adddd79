package automation

import (
	"context"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry/internal/work"
)

// reconcilePass is what a Poller runs over automation_reconciliation.
type reconcilePass struct{ s *Scheduler }

func (p reconcilePass) Name() string { return "automation.reconcile" }

func (p reconcilePass) Runner(o work.Options) work.Runner {
	s := p.s
	inner := work.New(s.store, work.Spec[reconciliation, struct{}]{
		Name: p.Name(), Table: reconciliations, Group: 1,
		Claimable: []string{reconcileReady}, // its lease alone says that a row is held
		Types: func() []string {
			names, _ := s.registry.scans()
			return names
		},
		Handle:  s.reconcileAll,
		Fail:    func(now time.Time, r *reconciliation, err error) { s.scanFailed(now, r, err) },
		Abandon: func(now time.Time, r *reconciliation) { r.fail(now, LeaseExpired, "", s.every(r.Type)) },
		Release: func(time.Time, *reconciliation) {}, // it is due as it was
	})
	return &reconcileRunner{inner: inner.Runner(o), s: s, known: map[place]bool{}}
}

// reconcileAll does one page of each row. Unlike other handlers it writes: the
// repairs of a page commit before its cursor does, so that a crash between the
// two repeats a page that is right already.
func (s *Scheduler) reconcileAll(ctx context.Context, items []work.Item[reconciliation]) ([]struct{}, error) {
	for _, it := range items {
		if err := s.reconcileNext(it.Ctx, it.Row); err != nil && ctx.Err() == nil && it.Ctx.Err() == nil {
			s.scanFailed(s.now(), it.Row, err)
			// The error's text may hold personal data, so it stays in the row.
			s.opts.Logger.WarnContext(ctx, "belfry: reconciliation failed", "type", it.Row.Type, "id", it.Row.ID,
				"reason", it.Row.ReasonCode, "failures", it.Row.FailureCount)
		}
	}
	return make([]struct{}, len(items)), nil
}

// reconcileNext does the next page of a row; after an error the row is as it was.
func (s *Scheduler) reconcileNext(ctx context.Context, row *reconciliation) error {
	t, _ := s.registry.reminder(row.Type)
	if t.Scan == nil || !t.Scan.allows(row.Scope) {
		row.off()
		return nil
	}
	run := begin(s.now(), row.Scope, t, row.Watermark, row.CoveredUntil)
	if row.Run != nil {
		run = *row.Run
	}
	var p *scannedPage
	err := work.Guard(func() (err error) {
		p, err = s.reconcilePage(ctx, t, &run, row.Cursor)
		return err
	})
	if err != nil {
		return err
	}
	row.turn(s.now(), run, p)
	if p.done {
		s.reconciled(ctx, *row.Last)
	}
	return nil
}

func (s *Scheduler) scanFailed(now time.Time, r *reconciliation, err error) {
	why := HandlerFailed
	if isPanic(err) {
		why = HandlerPanicked
	}
	r.fail(now, why, err.Error(), s.every(r.Type))
}

// every is the rhythm of a type's runs.
func (s *Scheduler) every(name string) time.Duration {
	if t, ok := s.registry.reminder(name); ok && t.Scan != nil {
		return t.Scan.Every
	}
	return MinScanEvery
}

// reconciled tells of a run that has ended: loudly only where it had something to
// do.
func (s *Scheduler) reconciled(ctx context.Context, r ReconcileReport) {
	s.tel.run(ctx, r)
	level := slog.LevelDebug
	if r.Scanned != r.Unchanged {
		level = slog.LevelInfo
	}
	s.opts.Logger.Log(ctx, level, "belfry: reconciled", "type", r.Type, "since", r.ChangedSince, "pages", r.Pages,
		"scanned", r.Scanned, "unchanged", r.Unchanged, "stale", r.Stale, "failed", r.Failed,
		"created", r.Created, "updated", r.Updated, "reactivated", r.Reactivated, "deactivated", r.Deactivated,
		"conflicts", r.Conflicts, "passed", r.OffsetPassed, "took", r.Duration)
}
