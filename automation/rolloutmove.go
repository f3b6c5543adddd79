package automation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// maxMoved is how many runs a [RolloutMove] names.
const maxMoved = 1000

// movePage is how many runs one transaction of a move gives to the other side.
const movePage = 500

// RolloutMove is what a move of the roll-out did, or would do.
type RolloutMove struct {
	Part     RolloutPart
	From, To Stage
	DryRun   bool
	// Taken runs went to this side, Returned ones to the old scheduler. Left ones
	// stay with the old scheduler although the part has moved on, since their moment
	// has come: it must do them, or has done them and did not say so. At most 1000
	// are counted.
	Taken, Returned, Left int
	// Runs names the first 1000 of them.
	Runs []MovedRun
}

// MovedRun is a run that a move gives to a side, or leaves with the old scheduler.
type MovedRun struct {
	Key         string
	Owner       Owner // after the move
	ScheduledOn time.Time
	// Overdue says that its moment has come, so that its owner has to look for it:
	// nobody will be reminded of it.
	Overdue bool
	Left    bool // it was the old scheduler's before
}

// MoveRollout moves a part of the work to a stage: forward by one, back by any
// number, as far as it takes (Report Subscription, "Step-by-step rollout"). Runs
// that no side has delivered change owner, page by page; a worker under way loses
// its row. A dry run answers the same and writes nothing.
//
// Forward, runs whose moment lies ahead are taken from the old scheduler; what it
// is about to deliver is refused by its own guard. Back, all that is not
// delivered is returned, overdue runs and runs on hold too; runs that support has
// cancelled are not. A narrower part that has a stage of its own stays where it
// is, and a part that has none is where the wider ones are.
//
// It is audited once. After an error it may be half done: call it again with the
// same stage, which finishes it, while runs that nobody moved stay with the owner
// they have. A finished move to the stage that the part has is refused with
// [ErrActionRefused].
func (s *Scheduler) MoveRollout(ctx context.Context, part RolloutPart, to Stage, by By, dryRun bool) (RolloutMove, error) {
	if err := errors.Join(part.check(), to.check(), by.Check()); err != nil {
		return RolloutMove{}, fmt.Errorf("automation: MoveRollout: %w", err)
	}
	m := &moving{s: s, report: RolloutMove{Part: part, To: to, DryRun: dryRun}, by: by, now: s.now()}
	err := s.inTx(ctx, func(tx storage.Tx) error { return m.begin(ctx, tx) })
	for _, step := range []func(context.Context) error{m.moveRuns, m.countLeft, m.wakeSeries, m.end} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err != nil {
		return m.report, fmt.Errorf("automation: MoveRollout: %w", err)
	}
	return m.report, nil
}

// moving is one call of MoveRollout.
type moving struct {
	s      *Scheduler
	report RolloutMove
	by     By
	now    time.Time
}

// begin writes the new stage, from which on new runs go to their new owner.
func (m *moving) begin(ctx context.Context, tx storage.Tx) error {
	part, to := m.report.Part, m.report.To
	have, err := loadStages(ctx, tx, []RolloutPart{part})
	if err != nil {
		return err
	}
	m.report.From = have.of(part)
	if to > m.report.From+1 {
		return fmt.Errorf("%w: from stage %s it goes to the next one, not to %s", ErrActionRefused, m.report.From, to)
	}
	row := &rollout{
		Record:       storage.Record{Scope: part.Scope, Key: part.key(), Type: part.Type, Status: rolloutSettled},
		BusinessUnit: part.BusinessUnit, Setting: part.Setting, Source: part.Source, Stage: m.report.From,
	}
	if m.report.DryRun {
		return nil
	}
	if _, err := rollouts.Insert(ctx, tx, row); err != nil {
		return err
	}
	return audit.Change(ctx, tx, rollouts, part.Scope, row.Key, "MoveTo"+stageNames[to], m.by, func(r *rollout, now time.Time) string {
		_, own := have[part]
		switch {
		case r.Stage == to && r.Status == rolloutSettled && own:
			return "it is at stage " + to.String() + " already"
		case to > r.Stage+1:
			return "it is at stage " + r.Stage.String()
		}
		r.Stage, r.Status, r.ChangedBy, r.Reason, r.ChangedOn = to, rolloutMoving, m.by.Actor, m.by.Reason, now
		return ""
	})
}

// end says that nothing is left to move.
func (m *moving) end(ctx context.Context) error {
	if m.report.DryRun {
		return nil
	}
	return m.s.inTx(ctx, func(tx storage.Tx) error {
		row, err := rollouts.Get(ctx, tx, m.report.Part.Scope, m.report.Part.key())
		if err != nil || row.Stage != m.report.To {
			return err // somebody moves it elsewhere by now
		}
		row.Status = rolloutSettled
		return rollouts.Save(ctx, tx, row)
	})
}

// Rollouts lists the parts of a scope that were ever moved, in the order of their
// first move.
func (s *Scheduler) Rollouts(ctx context.Context, scope Scope) ([]Rollout, error) {
	if scope == storage.AnyScope {
		return nil, errAnyScope
	}
	var out []Rollout
	err := s.inTx(ctx, func(tx storage.Tx) error {
		out = nil
		for after := (*storage.Position)(nil); ; {
			page, err := rollouts.Find(ctx, tx, scope, storage.Query{Limit: compareChunk, After: after})
			for _, r := range page {
				out = append(out, r.view())
			}
			if err != nil || len(page) < compareChunk {
				return err
			}
			after = &storage.Position{ID: page[len(page)-1].ID}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Rollouts: %w", err)
	}
	return out, nil
}
