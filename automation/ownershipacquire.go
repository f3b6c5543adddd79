package automation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// acquire is the guard of the due pass: whatever delivers marks its run as
// delivered first, in the same transaction, and what cannot goes on support hold
// with nothing of it dispatched. Runs that ended with nothing to deliver are
// marked too, so that neither side delivers them later. It gives back the rows
// that may go on. Types that are not under the guard cost no statement.
func (s *Scheduler) acquire(ctx context.Context, tx storage.Tx, done []work.Done[Schedule, *decision]) ([]work.Done[Schedule, *decision], error) {
	if !s.registry.guardsAny() {
		return done, nil
	}
	a := acquiring{s: s, now: s.now(), done: done}
	if err := a.want(ctx, tx); err != nil || len(a.wants) == 0 {
		return done, err
	}
	got, err := ownerships.Ensure(ctx, tx, decideAcquireAt(a.now), a.wants...)
	if err != nil {
		return nil, err
	}
	return a.settle(ctx, tx, got)
}

// acquiring is one run of acquire.
type acquiring struct {
	s      *Scheduler
	now    time.Time
	done   []work.Done[Schedule, *decision]
	places []int        // in done, of
	wants  []*ownership // what the rows ask of the guard
}

// want says what each row asks of the guard.
func (a *acquiring) want(ctx context.Context, tx storage.Tx) error {
	var parts []RolloutPart
	for i, d := range a.done {
		if !a.s.registry.guards(d.Row.Type) {
			continue
		}
		if o := a.wanted(d); o != nil {
			a.places, a.wants = append(a.places, i), append(a.wants, o)
			parts = append(parts, d.Row.rolloutPart())
		}
	}
	stages, err := loadStages(ctx, tx, parts)
	for i, o := range a.wants {
		o.Stage = stages.of(parts[i])
	}
	return err
}

// wanted is the run as the row leaves it, and nil while it is under way.
func (a *acquiring) wanted(d work.Done[Schedule, *decision]) *ownership {
	o := d.Row.ownership(AutomationScheduler)
	switch {
	case d.Row.inShadow():
		o.Owner = OldScheduler
		return o
	case d.Result != nil && d.Result.artifacts.deliver():
		o.Status, o.Coordinates = OwnershipDeliveryCreated, d.Result.artifacts.coordinates()
	case d.Row.IsOpen() || d.Row.Status == StatusFailed:
		return nil
	default:
		o.Status = OwnershipCancelled
	}
	o.EndedOn = a.now
	return o
}

// decideAcquireAt is the compare-and-swap of the guard: only from Owned by this
// side does a run become delivered. One that this side has delivered already
// under the same coordinates is a retry.
func decideAcquireAt(now time.Time) storage.Decide[ownership] {
	return func(stored, want *ownership) (storage.Outcome, bool) {
		switch {
		case want.Owner == OldScheduler:
			return storage.Unchanged, stored.give(OldScheduler)
		case want.Status == OwnershipDeliveryCreated && stored.ran(AutomationScheduler):
			if bytes.Equal(stored.Coordinates, want.Coordinates) {
				return storage.Unchanged, false
			}
			return storage.Conflict, false
		case want.Status == OwnershipDeliveryCreated && stored.Owner != AutomationScheduler:
			return storage.Conflict, false
		case stored.Owner != AutomationScheduler || stored.Status == OwnershipDeliveryCreated:
			return storage.Unchanged, false
		}
		stored.adopt(want)
		stored.to(now, want.Status)
		stored.Coordinates, stored.Stage = want.Coordinates, want.Stage
		return storage.Updated, true
	}
}

// settle puts rows on hold that lost, and gives back the others.
func (a *acquiring) settle(ctx context.Context, tx storage.Tx, got []storage.Ensured[ownership]) ([]work.Done[Schedule, *decision], error) {
	lost := map[int]bool{}
	var held []*Schedule
	var notes []note
	for n, g := range got {
		row, want := a.done[a.places[n]].Row, a.wants[n]
		a.s.tel.rolledOut(ctx, want, g.Outcome == storage.Conflict, a.now)
		if g.Outcome != storage.Conflict {
			continue
		}
		lost[a.places[n]] = true
		row.yield(a.now, conflictText(want, g.Row))
		held, notes = append(held, row), append(notes, note{row, past{StatusProcessing, actor(row.EventType, row.EventID)}, ActionHeld, string(OwnershipConflict)})
	}
	if err := schedules.Save(ctx, tx, held...); err != nil {
		return nil, err
	}
	out := make([]work.Done[Schedule, *decision], 0, len(a.done))
	for i, d := range a.done {
		if !lost[i] {
			out = append(out, d)
		}
	}
	return out, tell(ctx, tx, actorDuePass, notes)
}

// yield puts a row on hold whose run is another's. What it was settled as was
// never committed; nothing exists under the coordinates that it named.
func (r *Schedule) yield(now time.Time, detail string) {
	r.Status = StatusProcessing
	r.ReasonCode, r.Diagnostics, r.DispatchResult = OwnershipConflict, storable(detail), nil
	r.mergeResult(notify.DispatchResult{ConflictReason: string(OwnershipConflict)})
	r.to(now, StatusFailed)
	r.hold(OwnershipConflict, detail)
}

// conflictText names both sides.
func conflictText(want, stored *ownership) string {
	return fmt.Sprintf("%s wanted to deliver as %s; %s has it: %s, owner version %d, coordinates %s",
		want.Owner, cut(string(want.Coordinates), 150), stored.Owner, stored.Status, stored.OwnerVersion, cut(string(stored.Coordinates), 150))
}

// deliver reports whether anything of it reaches people; rows of this package
// and traces do not.
func (a *Artifacts) deliver() bool {
	return len(a.Jobs)+len(a.MessagingJobs)+len(a.Schedules)+len(a.UserMessages)+len(a.OutgoingMessages) > 0
}

// coordinates name the delivery, the same on each try: the first artifact of the
// kinds that group others, or of the others.
func (a *Artifacts) coordinates() json.RawMessage {
	var d notify.DispatchResult
	for _, j := range slices.Clone(a.Jobs[:min(1, len(a.Jobs))]) {
		d.Notification = j.Coordinates()
	}
	for _, j := range a.MessagingJobs[:min(1, len(a.MessagingJobs))] {
		d.MessagingJob = j.GUID
	}
	if d.IsZero() {
		for _, m := range a.UserMessages[:min(1, len(a.UserMessages))] {
			d.UserMessages = []notify.Coordinates{{PartitionKey: m.PartitionKey, RowKey: m.RowKey}}
		}
		for _, m := range slices.Clone(a.OutgoingMessages[:min(1, len(a.OutgoingMessages))]) {
			d.OutgoingMessages = []notify.Coordinates{m.Coordinates()}
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // it consists of texts
	}
	return text
}
