package automation

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Ensure makes the due work of the candidates exist, once under each key
// (Automation & Reminders, "Ensure semantics"). What is found under a key
// decides, in this order:
//
//   - nothing: the row is inserted (Created), unless its moment lies further
//     back than CatchUp (OffsetPassed)
//   - Processing: nothing is changed under a worker (InFlight)
//   - Completed: it is never sent again, its coordinates come back (Unchanged); a
//     real resend needs another TriggerKey
//   - another InputHash: the row goes on support hold and stays what it was
//     (Conflict)
//   - equal in everything: nothing is written (Unchanged)
//   - Pending, or Failed and Cancelled on hold: moment and type are brought up to
//     date (Updated)
//   - Failed, Deactivated, Cancelled: Pending again (Reactivated); attempts,
//     diagnostics, coordinates and a hold stay
//
// A [Threshold] that is not met asks for no row (ThresholdNotMet), and open rows
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
	plans, err := s.plans(within(ctx, s.tx), c)
	if err != nil || len(plans) == 0 {
		return nil, err
	}
	var out []Ensured
	err = s.inTx(ctx, func(tx storage.Tx) error {
		plans, err := s.measure(ctx, tx, plans)
		if err != nil {
			return err
		}
		if err := s.endUnmet(ctx, tx, plans, actorHost); err != nil {
			return err
		}
		out, err = s.ensure(ctx, tx, plans, Event{})
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

func conflicts(out []Ensured) error {
	var all []error
	for _, e := range out {
		if e.Conflict != nil {
			all = append(all, e.Conflict)
		}
	}
	return errors.Join(all...)
}

// ensure is Ensure within a transaction, for the event that asked for it.
func (s *Scheduler) ensure(ctx context.Context, tx storage.Tx, plans []plan, origin Event) ([]Ensured, error) {
	return s.ensureBy(ctx, tx, plans, origin, actor(origin.Type, origin.ID))
}

// ensureBy is ensure with the name of whoever asks, for the history.
func (s *Scheduler) ensureBy(ctx context.Context, tx storage.Tx, plans []plan, origin Event, by string) ([]Ensured, error) {
	now := s.now()
	out := make([]Ensured, len(plans))
	plans, err := s.takeSeries(ctx, tx, plans, origin, by)
	if err != nil {
		return nil, err
	}
	passed, err := passed(ctx, tx, now, plans)
	if err != nil {
		return nil, err
	}
	wants, places := make([]*Schedule, 0, len(plans)), make([]int, 0, len(plans))
	for i := range plans {
		p, want := &plans[i], &plans[i].want
		switch {
		case p.skipped:
			out[i] = Ensured{Outcome: TimeSkipped, Scope: want.Scope, Key: want.Key}
		case p.ended:
			out[i] = Ensured{Outcome: SeriesEnded, Scope: want.Scope}
		case p.found != nil:
			out[i] = asFound(p.found)
		case p.unmet:
			out[i] = Ensured{Outcome: ThresholdNotMet, Scope: want.Scope, Key: want.Key}
		case passed[i]:
			out[i] = Ensured{Outcome: OffsetPassed, Scope: want.Scope, Key: want.Key, ScheduledOn: want.ScheduledOn}
		default:
			want.CreatedOn, want.DueOn = now, want.dueOn()
			want.EventType, want.EventID = origin.Type, origin.ID
			wants, places = append(wants, want), append(places, i)
		}
	}
	was := map[*Schedule]past{}
	got, err := s.ensureRows(ctx, tx, remember(was, decideSeriesAt(now)), wants...)
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
	return out, s.advance(ctx, tx, left)
}

// passed says which plans ask for a new row whose moment is too long ago. Rows
// that exist are left to their type's Lateness.
func passed(ctx context.Context, tx storage.Tx, now time.Time, plans []plan) (map[int]bool, error) {
	late := map[int]bool{}
	keys := map[Scope][]string{}
	for i, p := range plans {
		if p.passed(now) {
			late[i] = true
			keys[p.want.Scope] = append(keys[p.want.Scope], p.want.Key)
		}
	}
	for scope, keys := range keys {
		rows, err := schedules.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
		if err != nil {
			return nil, err
		}
		exists := map[string]bool{}
		for _, row := range rows {
			exists[row.Key] = true
		}
		for i := range late {
			if want := &plans[i].want; want.Scope == scope && exists[want.Key] {
				delete(late, i)
			}
		}
	}
	return late, nil
}
