package report

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Asked is a run that a person asked for.
type Asked struct {
	// Run is the id of the run, made before anything is written. It is set beside an
	// error, too: a call that is repeated with it asks for the same run.
	Run string
	// Ensured says what there is of it: storage.Created, or what became of the one
	// that was asked for before.
	automation.Ensured
}

// RunNow builds and delivers a report at once, beside its cadence. run is the id
// that an earlier call returned, or one from [Service.NewGUID] that the caller has
// kept; empty: one is made. A repeated call with the same id makes no second run,
// whatever became of the first. A paused subscription can be run, one that is
// deactivated is [ErrRefused]. A run that this call made is audited.
func (s *Service) RunNow(ctx context.Context, scope automation.Scope, guid, run string, by By) (Asked, error) {
	asked := Asked{Run: run}
	if scope == storage.AnyScope {
		return asked, errAnyScope
	}
	if err := by.Check(); err != nil {
		return asked, fmt.Errorf("report: RunNow: %w", err)
	}
	if run == "" {
		var err error
		if asked.Run, err = s.NewGUID(); err != nil {
			return asked, err
		}
	}
	if _, err := (keys.ManualReportRun{Subscription: guid, Run: asked.Run}).Key(); err != nil {
		return asked, fmt.Errorf("report: RunNow: %w", err)
	}
	err := s.inTx(ctx, func(s *Service) (err error) {
		asked.Ensured, err = s.runNow(ctx, scope, guid, asked.Run, by)
		return err
	})
	return asked, wrap(guid, err)
}

func (s *Service) runNow(ctx context.Context, scope automation.Scope, guid, run string, by By) (automation.Ensured, error) {
	row, err := find(ctx, s.tx, scope, guid)
	switch {
	case err != nil:
		return automation.Ensured{}, err
	case row == nil:
		return automation.Ensured{}, storage.ErrNotFound
	case row.Status == StatusDeactivated:
		return automation.Ensured{}, fmt.Errorf("%w: it is %s", ErrRefused, row.Status)
	}
	return s.scheduler.RunReport(ctx, row.subscription().manual(run), by)
}
