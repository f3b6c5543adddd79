package automation

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Ownership tells which side delivers a run. The error is storage.ErrNotFound
// where the guard of scope knows no such key.
func (s *Scheduler) Ownership(ctx context.Context, scope Scope, key string) (Ownership, error) {
	if scope == storage.AnyScope {
		return Ownership{}, errAnyScope
	}
	var out Ownership
	err := s.inTx(ctx, func(tx storage.Tx) error {
		o, err := ownerships.Get(ctx, tx, scope, key)
		if err == nil {
			out = o.view()
		}
		return err
	})
	if err != nil {
		return Ownership{}, fmt.Errorf("automation: Ownership: %w", err)
	}
	return out, nil
}

// ContestedRun is a run on support hold that both sides wanted.
type ContestedRun struct {
	Key         string
	Type        string
	ScheduledOn time.Time
	Detail      string // names both sides
	Ownership   Ownership
}

// OwnershipConflicts lists the rows of a scope that are on hold for an
// [OwnershipConflict], by their keys; p.After is the Key of the last one. What is
// to be done about one is written at the reason.
func (s *Scheduler) OwnershipConflicts(ctx context.Context, scope Scope, p notify.Page) ([]ContestedRun, error) {
	if scope == storage.AnyScope {
		return nil, errAnyScope
	}
	var out []ContestedRun
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := schedules.Find(ctx, tx, scope, storage.Query{
			Where: []storage.Cond{
				storage.Eq("is_on_support_hold", true), storage.Eq("hold_reason", string(OwnershipConflict)), storage.Greater("key", p.After),
			},
			OrderBy: "key", Limit: pageLimit(p),
		})
		if err != nil {
			return err
		}
		keys := make([]string, len(rows))
		for i, r := range rows {
			keys[i] = r.Key
		}
		known, err := findOwnerships(ctx, tx, map[Scope][]string{scope: keys})
		out = make([]ContestedRun, len(rows))
		for i, r := range rows {
			out[i] = ContestedRun{Key: r.Key, Type: r.Type, ScheduledOn: r.ScheduledOn, Detail: r.HoldDetail}
			if o := known[statePlace{scope, r.Key}]; o != nil {
				out[i].Ownership = o.view()
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: OwnershipConflicts: %w", err)
	}
	return out, nil
}

func pageLimit(p notify.Page) int {
	if p.Limit < 1 || p.Limit > maxSelected {
		return maxSelected
	}
	return p.Limit
}

// TransferOwnership gives one run to a side, and takes its row out of shadow or
// puts it there: the way to pick single runs in [StageRunNow], to do what the old
// scheduler will not do, or to give back what this side should not, and then a series
// goes on with its next run here. A hold stays
// until it is released. It is audited.
//
// The error wraps [ErrActionRefused] unless the run is Owned by the other side,
// and, towards this side, where the part is at a stage before StageRunNow; it is
// storage.ErrNotFound where the guard of scope knows no such key.
func (s *Scheduler) TransferOwnership(ctx context.Context, scope Scope, key string, to Owner, by By) error {
	if to != OldScheduler && to != AutomationScheduler {
		return fmt.Errorf("automation: TransferOwnership: %.40q is no side", string(to))
	}
	if scope == storage.AnyScope {
		return errAnyScope
	}
	if err := by.Check(); err != nil {
		return fmt.Errorf("automation: TransferOwnership: %w", err)
	}
	err := s.again(ctx, func(tx storage.Tx) error { return s.transfer(ctx, tx, scope, key, to, by) })
	if err != nil {
		return fmt.Errorf("automation: TransferOwnership: %w", err)
	}
	return nil
}

// transfer writes the row of automation_scheduler first, as everybody does.
func (s *Scheduler) transfer(ctx context.Context, tx storage.Tx, scope Scope, key string, to Owner, by By) error {
	o, err := ownerships.Get(ctx, tx, scope, key)
	if err != nil {
		return err
	}
	stages, err := loadStages(ctx, tx, []RolloutPart{o.rolloutPart()})
	if err != nil {
		return err
	}
	if stage := stages.of(o.rolloutPart()); to == AutomationScheduler && stage < StageRunNow {
		return fmt.Errorf("%w: its part is at stage %s", ErrActionRefused, stage)
	}
	if now := *o; !now.give(to) { // before anything is written: a bound transaction may go on
		return fmt.Errorf("%w: %s", ErrActionRefused, o.held())
	}
	rows, err := schedules.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.Eq("key", key)}, Limit: 1})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if n, ok := s.follow(row, to); ok {
			n.reason = by.Reason
			if err := saveMoved(ctx, tx, by.Actor, []*Schedule{row}, []note{n}, nil); err != nil {
				return err
			}
		}
	}
	err = audit.Change(ctx, tx, ownerships, scope, key, "GiveTo"+string(to), by, func(o *ownership, _ time.Time) string {
		if !o.give(to) {
			return o.held()
		}
		return ""
	})
	if err != nil {
		return err
	}
	left, err := passedOver(ctx, tx, rows)
	if err != nil {
		return err
	}
	return s.advance(ctx, tx, left)
}

// held says who has the run, for a refusal.
func (o *ownership) held() string { return fmt.Sprintf("it is %s by %s", o.Status, o.Owner) }
