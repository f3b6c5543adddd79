package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ownershipMachine is the table of legal transitions of a run's ownership.
var ownershipMachine = states.Machine{
	Name:  "RunOwnership",
	Start: []string{cutover.Owned, cutover.DeliveryCreated, cutover.Cancelled},
	Edges: []states.Edge{
		{From: cutover.Owned, To: cutover.Owned, Event: "a move of the roll-out or support gives it to the other side"},
		{From: cutover.Owned, To: cutover.DeliveryCreated, Event: "its owner creates the delivery, in the same transaction"},
		{From: cutover.Owned, To: cutover.Cancelled, Event: "the run is no longer wanted, or the due pass found nothing to deliver"},
		{From: cutover.Cancelled, To: cutover.Owned, Event: "the run is asked for again"},
		{From: cutover.Cancelled, To: cutover.DeliveryCreated, Event: "support has it tried again, and its owner delivers"},
	},
	Terminal: []string{cutover.DeliveryCreated},
}

// ownership is a row of report_run_ownership: which side delivers the run of a
// SchedulerKey, its Key. Its Type is the type of the run. It is never due. Some
// columns are empty in a row that the old scheduler made, until the run is
// ensured here.
type ownership struct {
	storage.Record

	Owner        cutover.Owner   `db:"owner_type,plain"`
	OwnerVersion int64           `db:"owner_version"` // grows whenever the owner changes
	Coordinates  json.RawMessage `db:"coordinates,json,null,person"`

	BusinessUnit string `db:"business_unit,plain"`
	Setting      string `db:"setting,indexed,plain"`
	SourceType   string `db:"source_type,indexed,plain"`
	Source       string `db:"source,indexed,person"`

	ScheduledOn time.Time     `db:"scheduled_on"` // zero: the run was never ensured here
	OldRanOn    time.Time     `db:"old_ran_on"`   // when the old scheduler delivered it, or says so
	RunOn       time.Time     `db:"run_on"`       // ScheduledOn, or else OldRanOn
	EndedOn     time.Time     `db:"ended_on"`     // zero while Owned
	Stage       cutover.Stage `db:"stage"`        // of the roll-out when it ended here
}

// ownerships is the table of the guard.
var ownerships = driver.Define[ownership]("report_run_ownership").Grows(driver.WithWork).
	Kept(driver.Always, "which side has delivered a run; the old scheduler may ask at any time").Limit(maxRow)

// to changes the status, and what follows from it.
func (o *ownership) to(now time.Time, status string) {
	ownershipMachine.Must(o.Status, status)
	o.Status = status
	o.EndedOn = time.Time{}
	if status != cutover.Owned {
		o.EndedOn = now
	}
}

// give hands an Owned run to a side. It reports whether anything changed.
func (o *ownership) give(to cutover.Owner) bool {
	if o.Status != cutover.Owned || o.Owner == to {
		return false
	}
	o.Owner, o.OwnerVersion = to, o.OwnerVersion+1
	return true
}

// ran reports whether the side has created the delivery.
func (o *ownership) ran(side cutover.Owner) bool {
	return o.Owner == side && o.Status == cutover.DeliveryCreated
}

func (o *ownership) view() cutover.Ownership {
	return cutover.Ownership{
		Scope: o.Scope, Key: o.Key, Owner: o.Owner, Status: o.Status, Version: o.OwnerVersion, Coordinates: o.Coordinates,
		Type: o.Kind, BusinessUnit: o.BusinessUnit, Setting: o.Setting, SourceType: o.SourceType, Source: o.Source,
		ScheduledOn: o.ScheduledOn, OldRanOn: o.OldRanOn, EndedOn: o.EndedOn, Stage: o.Stage,
	}
}

// Ownership tells which side delivers a run. The error is storage.ErrNotFound
// where the guard of scope knows no such key.
func (s Rollout) Ownership(ctx context.Context, scope Scope, key string) (cutover.Ownership, error) {
	var out cutover.Ownership
	err := s.read(ctx, func(from driver.Reader) error {
		o, err := ownerships.Get(ctx, from, scope, key)
		if err == nil {
			out = o.view()
		}
		return err
	})
	if err != nil {
		return cutover.Ownership{}, fmt.Errorf("automation: Ownership: %w", err)
	}
	return out, nil
}

// OwnershipConflicts lists the rows of a scope that are on hold for an
// [reasons.OwnershipConflict], by their keys, and says where the next page begins; empty after
// the last. What is to be done about one is written at the reason.
func (s Rollout) OwnershipConflicts(ctx context.Context, scope Scope, p storage.Page) (out []cutover.ContestedRun, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		rows, after, err := schedules.Page(ctx, from, scope, p, driver.Query{
			Where: []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", string(reasons.OwnershipConflict))},
		})
		if err != nil {
			return err
		}
		places := make([]driver.ScopedKey, len(rows))
		for i, r := range rows {
			places[i] = schedules.ScopedKeyOf(r)
		}
		known, err := ownerships.GetMany(ctx, from, places)
		out, next = make([]cutover.ContestedRun, len(rows)), after
		for i, r := range rows {
			out[i] = cutover.ContestedRun{Key: r.Key, Type: r.Kind, ScheduledOn: r.ScheduledOn, Detail: r.HoldDetail}
			if o := known[places[i]]; o != nil {
				out[i].Ownership = o.view()
			}
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("automation: OwnershipConflicts: %w", err)
	}
	return out, next, nil
}

// ensureRows is the Ensure of automation_scheduler. Rows of types under the
// ownership guard are made in shadow where the old scheduler owns the run, and
// get their row in the guard; without such a type it costs nothing.
func (s ensurer) ensureRows(ctx context.Context, tx storage.Tx, decide driver.Decide[scheduleRow], wants ...*scheduleRow) ([]driver.Ensured[scheduleRow], error) {
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
	owners map[int]cutover.Owner // by place; only of rows under the guard
}

// lookUpOwners says who owns the runs of the rows, or will. What is read here
// only decides which rows are in shadow; write is what counts.
func (s ensurer) lookUpOwners(ctx context.Context, from driver.Reader, wants []*scheduleRow) (guarding, error) {
	g := guarding{now: s.now()}
	if !s.registry.guardsAny() {
		return g, nil
	}
	var parts []cutover.Part
	var places []driver.ScopedKey
	g.owners = map[int]cutover.Owner{}
	for i, w := range wants {
		if s.registry.guards(w.Kind) {
			parts = append(parts, w.rolloutPart())
			places = append(places, schedules.ScopedKeyOf(w))
			g.owners[i] = ""
		}
	}
	stages, err := loadStages(ctx, from, parts)
	if err != nil {
		return g, err
	}
	known, err := ownerships.GetMany(ctx, from, places)
	for i := range g.owners {
		w := wants[i]
		g.owners[i] = ownerFor(stages.of(w.rolloutPart()), known[schedules.ScopedKeyOf(w)], w, g.now)
	}
	return g, err
}

// ownerFor is who has to own the run of a wanted row. What the old scheduler
// owns is taken from it while the moment lies ahead: a run that has come may be
// in its hands.
func ownerFor(stage cutover.Stage, known *ownership, w *scheduleRow, now time.Time) cutover.Owner {
	if known == nil || known.Status == cutover.Cancelled { // no side has begun with it
		return stageOwner(stage, w.Key)
	}
	if known.Owner == cutover.OldScheduler && known.Status == cutover.Owned && stageRuns(stage, w.Key) && w.ScheduledOn.After(now) {
		return cutover.AutomationScheduler
	}
	return known.Owner
}

// shape puts wanted rows into shadow whose runs the old scheduler owns. The
// transaction may run again and find another owner.
func (g guarding) shape(wants []*scheduleRow) {
	for i, owner := range g.owners {
		switch w := wants[i]; {
		case owner == cutover.OldScheduler:
			w.shade(g.now)
		case w.inShadow():
			w.Status, w.ReasonCode, w.EndedOn = StatusPending, "", time.Time{}
			w.DueOn = w.dueOn()
		}
	}
}

// write makes sure of the guard's rows, behind the rows of automation_scheduler:
// everybody who takes both takes them in this order.
func (g guarding) write(ctx context.Context, tx storage.Tx, wants []*scheduleRow, got []driver.Ensured[scheduleRow]) error {
	var rows []*ownership
	for i, owner := range g.owners {
		if o := ownershipOf(wants[i], owner); o.settle(g.now, got[i]) {
			rows = append(rows, o)
		}
	}
	_, err := ownerships.Ensure(ctx, tx, decideOwnedAt(g.now), rows...)
	return err
}

// settle says what became of the run so far, and whether the guard has to know: one
// that was completed before the guard was on is nobody's any more, nor is one that
// stays ended.
func (o *ownership) settle(now time.Time, got driver.Ensured[scheduleRow]) bool {
	switch {
	case got.Outcome == storage.Conflict || got.Outcome == storage.InFlight || got.Row.Status == StatusCancelled:
		return false
	case got.Row.Status == StatusCompleted:
		o.Owner, o.Status, o.EndedOn = cutover.AutomationScheduler, cutover.DeliveryCreated, now
	case got.Row.Status == StatusDeactivated && !got.Row.inShadow():
		o.Status, o.EndedOn = cutover.Cancelled, now
	}
	return true
}

// disown ends the ownership of runs that an event or support ends, in the transaction
// that ends them: nobody may deliver them then, neither side. Whoever asks for such a
// run again owns it again.
func (s *core) disown(ctx context.Context, tx storage.Tx, ended []note) error {
	if !s.registry.guardsAny() {
		return nil
	}
	var places []driver.ScopedKey
	for _, n := range ended {
		over := n.row.Status == StatusCancelled || n.row.Status == StatusDeactivated && !n.row.inShadow()
		if over && s.registry.guards(n.row.Kind) {
			places = append(places, schedules.ScopedKeyOf(n.row))
		}
	}
	return driver.RetryStale("automation: the ownership of a run that ends", func() error {
		known, err := ownerships.GetMany(ctx, tx, places)
		if err != nil {
			return err
		}
		var over []*ownership
		for _, o := range known {
			if o.Status == cutover.Owned {
				o.to(s.now(), cutover.Cancelled)
				over = append(over, o)
			}
		}
		return ownerships.Save(ctx, tx, over...)
	})
}

// ownershipOf is the guard's row of a run that is asked for.
func ownershipOf(r *scheduleRow, owner cutover.Owner) *ownership {
	return &ownership{
		Record: storage.Record{Scope: r.Scope, Key: r.Key, Kind: r.Kind, Status: cutover.Owned},
		Owner:  owner, OwnerVersion: 1,
		BusinessUnit: r.BusinessUnit, Setting: r.Setting, SourceType: r.SourceType, Source: r.Source,
		ScheduledOn: r.ScheduledOn, RunOn: r.ScheduledOn,
	}
}

// decideOwnedAt brings a known run up to date: the old scheduler knows less of
// it. One that is Owned changes owner only to this side; one that is Cancelled goes to
// whoever is to have it.
func decideOwnedAt(now time.Time) driver.Decide[ownership] {
	return func(stored, want *ownership) (storage.Outcome, bool) {
		if want.Status != cutover.Owned {
			return storage.Unchanged, false
		}
		write := stored.adopt(want)
		cancelled := stored.Status == cutover.Cancelled
		if cancelled {
			stored.to(now, cutover.Owned)
			write = true
		}
		if (cancelled || want.Owner == cutover.AutomationScheduler) && stored.give(want.Owner) {
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
	o.Kind, o.BusinessUnit, o.Setting = want.Kind, want.BusinessUnit, want.Setting
	o.SourceType, o.Source, o.ScheduledOn = want.SourceType, want.Source, want.ScheduledOn
	if !want.ScheduledOn.IsZero() {
		o.RunOn = want.ScheduledOn
	}
	return o.Kind != was.Kind || o.BusinessUnit != was.BusinessUnit || o.Setting != was.Setting ||
		o.SourceType != was.SourceType || o.Source != was.Source || !o.ScheduledOn.Equal(was.ScheduledOn)
}
