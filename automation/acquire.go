package automation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// acquire is the guard of the due pass: whatever delivers marks its run as
// delivered first, in the same transaction, and what cannot goes on support hold
// with nothing of it dispatched. Runs that ended with nothing to deliver are
// marked too, so that neither side delivers them later. It gives back the rows
// that may go on, and the runs that it has marked as delivered. Types that are not under
// the guard cost no statement.
func (s Rollout) acquire(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, *decision]) ([]work.Done[scheduleRow, *decision], taken, error) {
	if !s.registry.guardsAny() {
		return done, nil, nil
	}
	a := acquiring{s: s.core, now: s.now(), done: done, taken: taken{}}
	if err := a.want(ctx, tx); err != nil || len(a.wants) == 0 {
		return done, nil, err
	}
	got, err := ownerships.Ensure(ctx, tx, decideAcquireAt(a.now), a.wants...)
	if err != nil {
		return nil, nil, err
	}
	done, err = a.settle(ctx, tx, got)
	return done, a.taken, err
}

// taken are the runs that a transaction has marked as delivered, by their rows.
type taken map[*scheduleRow]*ownership

// giveBack has runs be Owned again whose delivery was refused in the same transaction:
// nothing of them exists, and either side may yet have them.
func (t taken) giveBack(ctx context.Context, tx storage.Tx, refused []*scheduleRow) error {
	var back []*ownership
	for _, row := range refused {
		if o := t[row]; o != nil {
			o.Status, o.EndedOn, o.Coordinates = cutover.Owned, time.Time{}, nil
			back = append(back, o)
		}
	}
	return ownerships.Save(ctx, tx, back...)
}

// acquiring is one run of acquire.
type acquiring struct {
	s      *core
	now    time.Time
	done   []work.Done[scheduleRow, *decision]
	places []int        // in done, of
	wants  []*ownership // what the rows ask of the guard
	taken  taken
}

// want says what each row asks of the guard.
func (a *acquiring) want(ctx context.Context, from driver.Reader) error {
	var parts []cutover.Part
	for i, d := range a.done {
		if !a.s.registry.guards(d.Row.Kind) {
			continue
		}
		if o := a.wanted(d); o != nil {
			a.places, a.wants = append(a.places, i), append(a.wants, o)
			parts = append(parts, d.Row.rolloutPart())
		}
	}
	stages, err := loadStages(ctx, from, parts)
	for i, o := range a.wants {
		o.Stage = stages.of(parts[i])
	}
	return err
}

// wanted is the run as the row leaves it, and nil while it is under way.
func (a *acquiring) wanted(d work.Done[scheduleRow, *decision]) *ownership {
	o := ownershipOf(d.Row, cutover.AutomationScheduler)
	switch {
	case d.Row.inShadow():
		o.Owner = cutover.OldScheduler
		return o
	case d.Result != nil && d.Result.artifacts.deliver():
		o.Status, o.Coordinates = cutover.DeliveryCreated, d.Result.artifacts.coordinates()
	case d.Row.IsOpen() || d.Row.Status == StatusFailed:
		return nil
	default:
		o.Status = cutover.Cancelled
	}
	o.EndedOn = a.now
	return o
}

// decideAcquireAt is the compare-and-swap of the guard: only from Owned by this
// side does a run become delivered. One that this side has delivered already
// under the same coordinates is a retry.
func decideAcquireAt(now time.Time) driver.Decide[ownership] {
	return func(stored, want *ownership) (storage.Outcome, bool) {
		switch {
		case want.Owner == cutover.OldScheduler:
			return storage.Unchanged, stored.give(cutover.OldScheduler)
		case want.Status == cutover.DeliveryCreated && stored.ran(cutover.AutomationScheduler):
			if bytes.Equal(stored.Coordinates, want.Coordinates) {
				return storage.Unchanged, false
			}
			return storage.Conflict, false
		case want.Status == cutover.DeliveryCreated && stored.Owner != cutover.AutomationScheduler:
			return storage.Conflict, false
		case stored.Owner != cutover.AutomationScheduler || stored.Status == cutover.DeliveryCreated:
			return storage.Unchanged, false
		}
		stored.adopt(want)
		stored.to(now, want.Status)
		stored.Coordinates, stored.Stage = want.Coordinates, want.Stage
		return storage.Updated, true
	}
}

// settle puts rows on hold that lost, and gives back the others.
func (a *acquiring) settle(ctx context.Context, tx storage.Tx, got []driver.Ensured[ownership]) ([]work.Done[scheduleRow, *decision], error) {
	lost := map[int]bool{}
	var held []*scheduleRow
	var notes []note
	for n, g := range got {
		row, want := a.done[a.places[n]].Row, a.wants[n]
		a.s.tel.rolledOut(ctx, want, g.Outcome == storage.Conflict, a.now)
		if want.Status == cutover.DeliveryCreated && (g.Outcome == storage.Created || g.Outcome == storage.Updated) {
			a.taken[row] = g.Row
		}
		if g.Outcome != storage.Conflict {
			continue
		}
		lost[a.places[n]] = true
		row.yield(a.now, reasons.OwnershipConflict, conflictText(want, g.Row), a.done[a.places[n]].Result.before)
		held, notes = append(held, row), append(notes, note{row, past{StatusProcessing, actor(row.EventType, row.EventID)}, actionHeld, string(reasons.OwnershipConflict)})
	}
	if err := schedules.Save(ctx, tx, held...); err != nil {
		return nil, err
	}
	out := make([]work.Done[scheduleRow, *decision], 0, len(a.done))
	for i, d := range a.done {
		if !lost[i] {
			out = append(out, d)
		}
	}
	return out, tell(ctx, tx, actorDuePass, notes)
}

// yield puts a row on hold whose run is another's, or whose delivery is in conflict with
// what exists. What it was settled as was never committed; nothing of it exists under the
// coordinates that it named. What it led to before stays.
func (r *scheduleRow) yield(now time.Time, why Reason, detail string, before json.RawMessage) {
	r.Status = StatusProcessing
	r.ReasonCode, r.Diagnostics, r.DispatchResult = why, storable(detail), before
	r.mergeResult(notify.DispatchResult{ConflictReason: string(why)})
	r.to(now, StatusFailed)
	r.hold(why, detail)
}

// conflictText names both sides.
func conflictText(want, stored *ownership) string {
	return fmt.Sprintf("%s wanted to deliver as %s; %s has it: %s, owner version %d, coordinates %s",
		want.Owner, cut(string(want.Coordinates), 150), stored.Owner, stored.Status, stored.OwnerVersion, cut(string(stored.Coordinates), 150))
}

// rolledOut counts a run that the due pass settled under the guard. It is told
// inside the transaction, so one that runs again counts again.
func (t *telemetry) rolledOut(ctx context.Context, o *ownership, conflict bool, now time.Time) {
	outcome := o.Status
	switch {
	case conflict:
		outcome = "Conflict"
	case o.Owner == cutover.OldScheduler:
		outcome = string(reasons.Shadow)
	}
	t.stageRun(ctx, o.Stage, outcome)
	if outcome == cutover.DeliveryCreated {
		t.rolloutLatency.Record(ctx, now.Sub(o.ScheduledOn).Seconds(), metric.WithAttributes(attribute.Int("stage", int(o.Stage))))
	}
}

func (t *telemetry) stageRun(ctx context.Context, stage cutover.Stage, outcome string) {
	t.rolloutRuns.Add(ctx, 1, metric.WithAttributes(attribute.Int("stage", int(stage)), attribute.String("outcome", outcome)))
}

// maxOldCoordinates bounds what the old scheduler may say about a delivery.
const maxOldCoordinates = 4 << 10

// DeliverForOldScheduler marks runs as delivered by the old scheduler. It is the
// guard of its deliveries: call it on a scheduler that is bound ([Scheduler.WithTx])
// to the transaction that creates what will be sent, and create nothing for a run
// that is not Granted. A retry with the same Coordinates is granted again; without
// Coordinates it is not, since nobody could tell it from another delivery.
func (s Rollout) DeliverForOldScheduler(ctx context.Context, scope Scope, runs ...cutover.OldRun) ([]cutover.OldAnswer, error) {
	var answers []cutover.OldAnswer
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := s.oldRows(scope, runs)
		if err != nil {
			return err
		}
		got, err := ownerships.Ensure(ctx, tx, decideOldDelivery, rows...)
		answers = make([]cutover.OldAnswer, len(got))
		for i, g := range got {
			answers[i] = cutover.OldAnswer{Granted: g.Outcome != storage.Conflict, Ownership: g.Row.view()}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: DeliverForOldScheduler: %w", err)
	}
	return answers, nil
}

// delivered makes o what the old scheduler leaves behind.
func (o *ownership) delivered(on time.Time) {
	o.Status, o.OldRanOn, o.RunOn, o.EndedOn = cutover.DeliveryCreated, on, on, on
}

// decideOldDelivery is the compare-and-swap of the old side.
func decideOldDelivery(stored, want *ownership) (storage.Outcome, bool) {
	switch {
	case stored.ran(cutover.OldScheduler) && len(want.Coordinates) > 0 && bytes.Equal(stored.Coordinates, want.Coordinates):
		return storage.Unchanged, false
	case stored.Owner != cutover.OldScheduler || stored.Status != cutover.Owned:
		return storage.Conflict, false
	}
	stored.to(want.EndedOn, cutover.DeliveryCreated)
	stored.Coordinates, stored.OldRanOn = want.Coordinates, want.OldRanOn
	return storage.Updated, true
}

// oldRows checks runs that the old scheduler has delivered, or is about to, and makes
// the rows that stand for them.
func (s Rollout) oldRows(scope Scope, runs []cutover.OldRun) ([]*ownership, error) {
	rows := make([]*ownership, len(runs))
	for i, run := range runs {
		if err := checkOldRun(run); err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		on := driver.Time(run.RanOn)
		if on.IsZero() {
			on = s.now()
		}
		rows[i] = &ownership{
			Record: storage.Record{Scope: scope, Key: run.Key, Status: cutover.Owned},
			Owner:  cutover.OldScheduler, OwnerVersion: 1, Coordinates: run.Coordinates, RunOn: on,
		}
		if len(run.Coordinates) == 0 {
			rows[i].Coordinates = nil
		}
		rows[i].read(run.Type)
		rows[i].delivered(on)
	}
	return rows, nil
}

// read takes from the key what the run is about.
func (o *ownership) read(named string) {
	parsed, _ := keys.Parse(o.Key) // it was checked
	switch k := parsed.(type) {
	case keys.Reminder:
		o.Setting, o.SourceType, o.Source = k.Setting, k.SourceType, k.Source
	case keys.Threshold:
		o.Setting, o.SourceType, o.Source = k.Setting, k.SourceType, k.Source
	case keys.Recurring:
		o.Setting, o.SourceType, o.Source = k.Setting, k.SourceType, k.Source
	case keys.Instant:
		o.Setting, o.SourceType, o.Source = k.Setting, k.SourceType, k.Source
	case keys.Host:
		o.Kind, o.Setting, o.SourceType, o.Source = k.Type, k.Type, k.SourceType, k.Source
	case keys.HostRun:
		o.Kind, o.Setting, o.SourceType, o.Source = k.Type, k.Type, k.SourceType, k.Source
	case keys.ReportRun:
		o.Setting, o.SourceType, o.Source = TypeReportSubscription, TypeReportSubscription, k.Subscription
	case keys.ManualReportRun:
		o.Setting, o.SourceType, o.Source = TypeReportSubscription, TypeReportSubscription, k.Subscription
	}
	o.Kind = cmp.Or(o.Kind, named, o.Setting)
}

func checkOldRun(r cutover.OldRun) error {
	if _, err := keys.Parse(r.Key); err != nil {
		return fmt.Errorf("its Key: %w", err)
	}
	switch {
	case len(r.Coordinates) > maxOldCoordinates:
		return fmt.Errorf("its Coordinates have %d bytes, more than %d", len(r.Coordinates), maxOldCoordinates)
	case len(r.Coordinates) > 0 && !json.Valid(r.Coordinates):
		return errors.New("its Coordinates are no JSON")
	}
	return nil
}

// TransferOwnership gives one run to a side, and takes its row out of shadow or
// puts it there: the way to pick single runs in [cutover.StageRunNow], to do what the old
// scheduler will not do, or to give back what this side should not, and then a series
// goes on with its next run here. A hold stays
// until it is released. It is audited.
//
// The error wraps [ErrActionRefused] unless the run is Owned by the other side,
// and, towards this side, where the part is at a stage before StageRunNow; it is
// storage.ErrNotFound where the guard of scope knows no such key.
func (s Rollout) TransferOwnership(ctx context.Context, scope Scope, key string, to cutover.Owner, by By) error {
	if to != cutover.OldScheduler && to != cutover.AutomationScheduler {
		return fmt.Errorf("automation: TransferOwnership: %.40q is not a side", string(to))
	}
	if err := by.Check(); err != nil {
		return fmt.Errorf("automation: TransferOwnership: %w", err)
	}
	err := driver.RetryStale("the run", func() error {
		return s.inTx(ctx, func(tx storage.Tx) error { return s.transfer(ctx, tx, scope, key, to, by) })
	})
	if err != nil {
		return fmt.Errorf("automation: TransferOwnership: %w", err)
	}
	return nil
}

// transfer writes the row of automation_scheduler first, as everybody does.
func (s Rollout) transfer(ctx context.Context, tx storage.Tx, scope Scope, key string, to cutover.Owner, by By) error {
	o, err := ownerships.Get(ctx, tx, scope, key)
	if err != nil {
		return err
	}
	stages, err := loadStages(ctx, tx, []cutover.Part{o.rolloutPart()})
	if err != nil {
		return err
	}
	if stage := stages.of(o.rolloutPart()); to == cutover.AutomationScheduler && stage < cutover.StageRunNow {
		return fmt.Errorf("%w: its part is at stage %s", ErrActionRefused, stage)
	}
	if now := *o; !now.give(to) { // before anything is written: a bound transaction may go on
		return fmt.Errorf("%w: %s", ErrActionRefused, o.held())
	}
	rows, err := schedules.Find(ctx, tx, scope, driver.Query{Where: []driver.Cond{driver.Eq("key", key)}, Limit: 1})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if n, ok := s.follow(row, to); ok {
			n.reason = by.Reason
			if err := s.saveMoved(ctx, tx, person(by), []note{n}, nil); err != nil {
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
	return s.recurrer().advance(ctx, tx, left)
}

// held says who has the run, for a refusal.
func (o *ownership) held() string { return fmt.Sprintf("it is %s by %s", o.Status, o.Owner) }
