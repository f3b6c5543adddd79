package automation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Ensured is the answer for one candidate.
type Ensured struct {
	// Outcome is storage.Created, Updated, Reactivated, Unchanged, InFlight or Conflict,
	// or one of this package's.
	Outcome storage.Outcome
	Scope   Scope
	Key     string
	// Status, ScheduledOn and the hold are the stored row's; without a row they
	// are empty, but for ScheduledOn, which is the one that was asked for.
	Status          string
	ScheduledOn     time.Time
	IsOnSupportHold bool
	HoldReason      Reason
	// Result has the coordinates of what was dispatched for the row.
	Result notify.DispatchResult
	// InputDiffers says that the row is Completed and was so for another input,
	// which is reported and changes nothing.
	InputDiffers bool
	// Conflict is set if and only if Outcome is storage.Conflict.
	Conflict *notify.ConflictError
}

// artifactSchedule is the kind of artifact that a Schedule is.
const artifactSchedule notify.Artifact = "AutomationScheduler"

// answer describes the stored row; want is what was asked for.
func answer(outcome storage.Outcome, row, want *scheduleRow) Ensured {
	dispatched, _ := row.Dispatched() // undecodable: nothing to tell
	e := Ensured{
		Outcome: outcome, Scope: row.Scope, Key: row.Key, Status: row.Status, ScheduledOn: row.ScheduledOn,
		IsOnSupportHold: row.IsOnSupportHold, HoldReason: row.HoldReason, Result: dispatched,
		InputDiffers: row.Status == StatusCompleted && row.InputHash != want.InputHash,
	}
	if outcome == storage.Conflict {
		e.Conflict = &notify.ConflictError{
			Artifact: artifactSchedule, Scope: row.Scope, Coordinates: notify.Coordinates{RowKey: row.Key},
			Field: "InputHash", Stored: row.InputHash, Wanted: want.InputHash,
		}
	}
	return e
}

// Ensure makes the due work of the candidates exist, once under each key
// (Automation & Reminders, "Ensure semantics"). It ends nothing: a date that moved is
// another key, and the row of the old one stays. [Reminders.Set] ends it. What is found under a key
// decides, in this order:
//
//   - nothing: the row is inserted (Created), unless its moment is too late by the
//     type's [Lateness] (OffsetPassed)
//   - Processing: moment and type are brought up to date, and the worker's try counts
//     for nothing (InFlight); for another InputHash see Conflict
//   - Completed: it is never sent again, its coordinates come back (Unchanged); a
//     real resend needs another TriggerKey
//   - another InputHash: the row goes on support hold and stays what it was
//     (Conflict), but for a stub of one that was forgotten, which is never held
//   - equal in everything: nothing is written (Unchanged)
//   - Pending, or Failed and Cancelled on hold: moment and type are brought up to
//     date (Updated)
//   - ended as Overtaken or SentByOldJob: it stays so (Unchanged)
//   - Failed, Deactivated, Cancelled: Pending again (Reactivated), unless its moment
//     is too late (OffsetPassed); attempts, diagnostics,
//     coordinates and a hold stay
//
// A [threshold.Threshold] that is not met asks for no row (ThresholdNotMet), and open rows
// that stand for it end. Its reading counts as the newest, so where events tell
// of the same source, leave it to them. One that is met has the moment of the
// first call, which a repeated one does not move.
//
// Results are in the order of the candidates and always complete; if there were
// conflicts the error joins a [*notify.ConflictError] for each, and everything
// else is done. After any other error nothing of the call was written: a
// [*CandidateError] says which candidate cannot be stored and why. Many
// candidates take few statements.
func (s *Scheduler) Ensure(ctx context.Context, c ...Candidate) ([]Ensured, error) {
	planned, err := s.epochsOfUnits(ctx, scopesOf(c)...)
	if err != nil {
		return nil, err
	}
	plans, off, err := s.planner().activePlans(within(ctx, s.tx), c)
	if err != nil || len(plans) == 0 {
		return nil, err
	}
	var out []Ensured
	err = s.inTx(ctx, func(tx storage.Tx) error {
		plans, off := plans, off
		outdated, err := s.outdated(ctx, tx, planned)
		if err == nil && outdated {
			plans, off, err = s.planner().activePlans(within(ctx, tx), c)
		}
		if err != nil {
			return err
		}
		plans, err = s.ensurer().measure(ctx, tx, plans)
		if err != nil {
			return err
		}
		if err := s.ensurer().endUnmet(ctx, tx, plans, actorHost); err != nil {
			return err
		}
		out, err = s.ensurer().ensureActive(ctx, tx, plans, Event{}, off)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.tx == nil { // a transaction that goes on may yet restore the rows in them
		sparePlans.giveBack(plans)
	}
	s.tel.ensured(ctx, out)
	return out, conflicts(out)
}

// activePlans are the plans of candidates, and which of their settings are off.
func (s planner) activePlans(ctx context.Context, c []Candidate) ([]plan, map[driver.ScopedKey]bool, error) {
	plans, err := s.plans(ctx, c)
	if err != nil || len(plans) == 0 {
		return nil, nil, err
	}
	off, err := s.inactivePlans(ctx, plans)
	return plans, off, err
}

func scopesOf(c []Candidate) []Scope {
	var out []Scope
	for i := range c {
		if _, err := checkTenancy(c[i].Scope, ""); err == nil && !slices.Contains(out, c[i].Scope) {
			out = append(out, c[i].Scope)
		}
	}
	return out
}

func conflicts(out []Ensured) error {
	var all []error
	for _, e := range out {
		if e.Conflict != nil {
			all = append(all, e.Conflict)
		}
	}
	return errors.Join(all...)
}

// ensureActive is ensure but for plans whose setting is off. They make no row; one that
// exists ends at its moment, or with the next event.
func (s ensurer) ensureActive(ctx context.Context, tx storage.Tx, plans []plan, origin Event, off map[driver.ScopedKey]bool) ([]Ensured, error) {
	if len(off) == 0 {
		return s.ensure(ctx, tx, plans, origin)
	}
	out := make([]Ensured, len(plans))
	var active []plan
	var places []int
	for i, plan := range plans {
		if plan.isOff(off) {
			out[i] = Ensured{Outcome: causes.SettingInactive, Scope: plan.want.Scope, Key: plan.want.Key}
			continue
		}
		active, places = append(active, plan), append(places, i)
	}
	got, err := s.ensure(ctx, tx, active, origin)
	for n, g := range got {
		out[places[n]] = g
	}
	return out, err
}

// isOff reports whether the setting of a reminder is among those that are off, by scope
// and id.
func (p *plan) isOff(off map[driver.ScopedKey]bool) bool {
	return p.want.AutomationType == TypeReminder && off[driver.ScopedKey{Scope: p.want.Scope, Key: p.want.Setting}]
}

// inactivePlans are the settings of plans that are off, by scope and id.
func (s planner) inactivePlans(ctx context.Context, plans []plan) (map[driver.ScopedKey]bool, error) {
	if s.opts.Settings == nil {
		return nil, nil
	}
	of := map[Scope][]string{}
	for i := range plans {
		if want := &plans[i].want; want.AutomationType == TypeReminder {
			of[want.Scope] = append(of[want.Scope], want.Setting)
		}
	}
	off := map[driver.ScopedKey]bool{}
	for scope, ids := range of {
		slices.Sort(ids)
		some, err := s.inactive(ctx, scope, slices.Compact(ids))
		if err != nil {
			return nil, err
		}
		for id := range some {
			off[driver.ScopedKey{Scope: scope, Key: id}] = true
		}
	}
	return off, nil
}

// ensure is Ensure within a transaction, for the event that asked for it.
func (s ensurer) ensure(ctx context.Context, tx storage.Tx, plans []plan, origin Event) ([]Ensured, error) {
	return s.ensureBy(ctx, tx, plans, origin, actor(origin.Type, origin.ID))
}

// ensureBy is ensure with the name of the requester, for the history.
func (s ensurer) ensureBy(ctx context.Context, tx storage.Tx, plans []plan, origin Event, by author) ([]Ensured, error) {
	now := s.now()
	out := make([]Ensured, len(plans))
	late, err := tooLate(ctx, tx, now, plans)
	if err == nil {
		err = s.rememberPassed(ctx, tx, plans, late)
	}
	if err == nil {
		plans, err = s.takeSeries(ctx, tx, plans, origin, by)
	}
	if err != nil {
		return nil, err
	}
	wants, places := make([]*scheduleRow, 0, len(plans)), make([]int, 0, len(plans))
	for i := range plans {
		p, want := &plans[i], &plans[i].want
		switch {
		case p.skipped:
			out[i] = Ensured{Outcome: causes.TimeSkipped, Scope: want.Scope, Key: want.Key}
		case p.ended:
			out[i] = Ensured{Outcome: causes.SeriesEnded, Scope: want.Scope}
		case p.found != nil:
			out[i] = asFound(p.found)
		case p.unmet:
			out[i] = Ensured{Outcome: causes.ThresholdNotMet, Scope: want.Scope, Key: want.Key}
		case late.missing[i] != "":
			out[i] = Ensured{Outcome: causes.OffsetPassed, Scope: want.Scope, Key: want.Key, ScheduledOn: want.ScheduledOn}
		default:
			want.CreatedOn, want.DueOn = now, want.dueOn()
			want.EventType, want.EventID = origin.Type, origin.ID
			wants, places = append(wants, want), append(places, i)
		}
	}
	was := map[*scheduleRow]past{}
	got, err := s.ensureRows(ctx, tx, remember(was, decideSeriesAt(now, late.wants(plans))), wants...)
	if err != nil {
		return nil, err
	}
	for n, g := range got {
		out[places[n]] = answer(g.Outcome, g.Row, wants[n])
	}
	if err := tell(ctx, tx, by, ensuredNotes(got, was)); err != nil {
		return nil, err
	}
	left, err := goneAmong(ctx, tx, wants, got)
	if err != nil {
		return nil, err
	}
	return out, s.recurrer().advance(ctx, tx, left)
}

// decideAt is the table of [Scheduler.Ensure] for a row that exists; late are the wants
// whose moment is worth nothing any more.
func decideAt(now time.Time, late map[*scheduleRow]bool) driver.Decide[scheduleRow] {
	return func(stored, want *scheduleRow) (storage.Outcome, bool) {
		// What support has stopped, and what was given up, waits for its release.
		stopped := stored.IsOnSupportHold && (stored.Status == StatusFailed || stored.Status == StatusCancelled)
		switch {
		case stored.Status == StatusProcessing:
			return stored.underWorker(now, want)
		case stored.Status == StatusCompleted:
			return storage.Unchanged, false
		case stored.IsTombstone() && stored.InputHash != want.InputHash:
			return storage.Conflict, false // nothing of it can go out
		case stored.IsTombstone():
			return storage.Unchanged, false
		case stored.InputHash != want.InputHash:
			return storage.Conflict, stored.holdConflict(want)
		case stored.isOver():
			return storage.Unchanged, false
		case late[want] && !stored.IsOpen() && !stored.inShadow() && !stopped:
			return causes.OffsetPassed, false
		case want.inShadow():
			return decideShadow(now, stored, want)
		case stored.sameMoment(want) && (stored.Status == StatusPending || stopped):
			return storage.Unchanged, false
		}
		stored.moveTo(want)
		switch {
		case stopped:
			return storage.Updated, true
		case stored.Status == StatusPending:
			stored.DueOn = stored.dueOn() // a retry keeps its back-off,
			if !stored.NextRetryOn.After(stored.ScheduledOn) {
				stored.NextRetryOn = time.Time{} // unless its moment is behind it
			}
			return storage.Updated, true
		}
		stored.reactivate(now)
		return storage.Reactivated, true
	}
}

// isOver reports whether the row ended for good: what it was about has been told.
func (r *scheduleRow) isOver() bool {
	return r.Status == StatusDeactivated && (r.ReasonCode == reasons.Overtaken || r.ReasonCode == reasons.SentByOldJob)
}

// sameMoment reports whether nothing that may change under the same key differs.
func (r *scheduleRow) sameMoment(want *scheduleRow) bool {
	if want.TriggerType == ManualRun { // its moment is when it was first asked for
		return r.Kind == want.Kind && r.BusinessUnit == want.BusinessUnit && r.Person == want.Person
	}
	// A condition's moment is when it was first met.
	return r.BusinessUnit == want.BusinessUnit && r.Person == want.Person && (r.ScheduledOn.Equal(want.ScheduledOn) || r.TriggerType == ThresholdCondition) && r.LocalDate == want.LocalDate && r.SendAt == want.SendAt &&
		r.TimeZone == want.TimeZone && r.GapPolicy == want.GapPolicy && r.OverlapPolicy == want.OverlapPolicy && r.Kind == want.Kind
}

// moveTo takes over what may change under the same key, and who asked for it.
func (r *scheduleRow) moveTo(want *scheduleRow) {
	r.BusinessUnit = want.BusinessUnit
	r.Person = want.Person
	r.TargetDate = want.TargetDate
	r.ScheduledOn, r.LocalDate, r.SendAt = want.ScheduledOn, want.LocalDate, want.SendAt
	r.TimeZone, r.GapPolicy, r.OverlapPolicy, r.Kind = want.TimeZone, want.GapPolicy, want.OverlapPolicy, want.Kind
	r.EventType, r.EventID = want.EventType, want.EventID
}
