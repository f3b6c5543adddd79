package automation

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// ensureRows is the Ensure of automation_scheduler. Rows of types under the
// ownership guard are made in shadow where the old scheduler owns the run, and
// get their row in the guard; without such a type it costs nothing.
func (s *Scheduler) ensureRows(ctx context.Context, tx storage.Tx, decide storage.Decide[Schedule], wants ...*Schedule) ([]storage.Ensured[Schedule], error) {
	guard, err := s.lookUpOwners(ctx, tx, wants)
	if err != nil {
		return nil, err
	}
	guard.shape(wants)
	got, err := schedules.Ensure(ctx, tx, decide, wants...)
	if err != nil {
		return nil, err
	}
	return got, guard.write(ctx, tx, wants, got)
}

// guarding is what the ownership guard knows of rows that are about to be made.
type guarding struct {
	now    time.Time
	owners map[int]Owner // by place; only of rows under the guard
}

// lookUpOwners says who owns the runs of the rows, or will. What is read here
// only decides which rows are in shadow; write is what counts.
func (s *Scheduler) lookUpOwners(ctx context.Context, tx storage.Tx, wants []*Schedule) (guarding, error) {
	g := guarding{now: s.now()}
	if !s.registry.guardsAny() {
		return g, nil
	}
	var parts []RolloutPart
	keys := map[Scope][]string{}
	g.owners = map[int]Owner{}
	for i, w := range wants {
		if s.registry.guards(w.Type) {
			parts = append(parts, w.rolloutPart())
			keys[w.Scope] = append(keys[w.Scope], w.Key)
			g.owners[i] = ""
		}
	}
	stages, err := loadStages(ctx, tx, parts)
	if err != nil {
		return g, err
	}
	known, err := findOwnerships(ctx, tx, keys)
	for i := range g.owners {
		w := wants[i]
		g.owners[i] = ownerFor(stages.of(w.rolloutPart()), known[statePlace{w.Scope, w.Key}], w, g.now)
	}
	return g, err
}

// ownerFor is who has to own the run of a wanted row. What the old scheduler
// owns is taken from it while the moment lies ahead: a run that has come may be
// in its hands.
func ownerFor(stage Stage, known *ownership, w *Schedule, now time.Time) Owner {
	if known == nil {
		return stage.owner(w.Key)
	}
	if known.Owner == OldScheduler && known.Status == OwnershipOwned && stage.runs(w.Key) && w.ScheduledOn.After(now) {
		return AutomationScheduler
	}
	return known.Owner
}

// findOwnerships reads the guard's rows of keys: a statement for each scope.
func findOwnerships(ctx context.Context, tx storage.Tx, keys map[Scope][]string) (map[statePlace]*ownership, error) {
	out := map[statePlace]*ownership{}
	for scope, keys := range keys {
		found, err := ownerships.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			out[statePlace{o.Scope, o.Key}] = o
		}
	}
	return out, nil
}

// shape puts wanted rows into shadow whose runs the old scheduler owns. The
// transaction may run again and find another owner.
func (g guarding) shape(wants []*Schedule) {
	for i, owner := range g.owners {
		switch w := wants[i]; {
		case owner == OldScheduler:
			w.shade(g.now)
		case w.inShadow():
			w.Status, w.ReasonCode, w.EndedOn = StatusPending, "", time.Time{}
			w.DueOn = w.dueOn()
		}
	}
}

// write makes sure of the guard's rows, behind the rows of automation_scheduler:
// everybody who takes both takes them in this order.
func (g guarding) write(ctx context.Context, tx storage.Tx, wants []*Schedule, got []storage.Ensured[Schedule]) error {
	var rows []*ownership
	for i, owner := range g.owners {
		if o := wants[i].ownership(owner); o.settle(g.now, got[i]) {
			rows = append(rows, o)
		}
	}
	_, err := ownerships.Ensure(ctx, tx, decideOwnedAt(g.now), rows...)
	return err
}

// settle says what became of the run so far, and whether the guard has to know:
// one that was completed before the guard was on is nobody's any more.
func (o *ownership) settle(now time.Time, got storage.Ensured[Schedule]) bool {
	switch {
	case got.Outcome == storage.Conflict || got.Outcome == storage.InFlight || got.Row.Status == StatusCancelled:
		return false
	case got.Row.Status == StatusCompleted:
		o.Owner, o.Status, o.EndedOn = AutomationScheduler, OwnershipDeliveryCreated, now
	}
	return true
}

// ownership is the guard's row of a run that is asked for.
func (r *Schedule) ownership(owner Owner) *ownership {
	return &ownership{
		Record: storage.Record{Scope: r.Scope, Key: r.Key, Type: r.Type, Status: OwnershipOwned},
		Owner:  owner, OwnerVersion: 1,
		BusinessUnit: r.BusinessUnit, Setting: r.Setting, SourceType: r.SourceType, Source: r.Source,
		ScheduledOn: r.ScheduledOn, RunOn: r.ScheduledOn,
	}
}

// decideOwnedAt brings a known run up to date: the old scheduler knows less of
// it. Only one that is Owned changes owner, and only to this side.
func decideOwnedAt(now time.Time) storage.Decide[ownership] {
	return func(stored, want *ownership) (storage.Outcome, bool) {
		if want.Status != OwnershipOwned {
			return storage.Unchanged, false
		}
		write := stored.adopt(want)
		if stored.Status == OwnershipCancelled && want.Owner == AutomationScheduler {
			stored.to(now, OwnershipOwned)
			write = true
		}
		if want.Owner == AutomationScheduler && stored.give(AutomationScheduler) {
			write = true
		}
		if write {
			return storage.Updated, true
		}
		return storage.Unchanged, false
	}
}

// adopt takes over what the run is about, and reports whether that is news.
func (o *ownership) adopt(want *ownership) bool {
	if want.ScheduledOn.IsZero() && !o.ScheduledOn.IsZero() {
		return false
	}
	was := *o
	o.Type, o.BusinessUnit, o.Setting = want.Type, want.BusinessUnit, want.Setting
	o.SourceType, o.Source, o.ScheduledOn = want.SourceType, want.Source, want.ScheduledOn
	if !want.ScheduledOn.IsZero() {
		o.RunOn = want.ScheduledOn
	}
	return o.Type != was.Type || o.BusinessUnit != was.BusinessUnit || o.Setting != was.Setting ||
		o.SourceType != was.SourceType || o.Source != was.Source || !o.ScheduledOn.Equal(was.ScheduledOn)
}
