package automation

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// dispatch makes what the settled rows decided exist, in the transaction that
// settled them: automation's own rows first, then each kind of artifact in one
// call and always in the same order, so that passes do not lock each other out.
func (s *Scheduler) dispatch(ctx context.Context, tx storage.Tx, done []work.Done[Schedule, *decision]) error {
	done, err := s.acquire(ctx, tx, done)
	if err != nil {
		return err
	}
	done = slices.DeleteFunc(done, func(d work.Done[Schedule, *decision]) bool { return d.Result == nil })
	if len(done) == 0 {
		return nil
	}
	if err := s.dispatchOwn(ctx, tx, done); err != nil {
		return err
	}
	if err := s.followChanged(ctx, tx, done); err != nil {
		return err
	}
	d := dispatching{ctx: ctx, tx: tx, done: done, refused: map[int]*notify.ConflictError{}}
	send(&d, func(a Artifacts) []notify.AutomationJob { return a.AutomationJobs }, s.out.EnsureAutomationJob)
	send(&d, func(a Artifacts) []notify.Job { return a.Jobs }, s.out.EnsureNotificationJob)
	send(&d, func(a Artifacts) []notify.MessagingJob { return a.MessagingJobs }, s.out.EnsureMessagingJob)
	send(&d, func(a Artifacts) []notify.Schedule { return a.Schedules }, s.out.EnsureNotificationScheduler)
	send(&d, func(a Artifacts) []notify.UserMessage { return a.UserMessages }, s.out.EnsureUserMessage)
	send(&d, func(a Artifacts) []notify.OutgoingMessage { return a.OutgoingMessages }, s.out.EnsureOutgoingMessage)
	d.keepBlobs()
	if d.err != nil {
		return d.err
	}
	return d.holdRefused()
}

// dispatchOwn ensures rows of automation_scheduler, each once. Those that were
// derived from a source's state take the source's row first, and are left out if
// an event with a newer state was there before.
func (s *Scheduler) dispatchOwn(ctx context.Context, tx storage.Tx, done []work.Done[Schedule, *decision]) error {
	older, err := olderOrigins(ctx, tx, done)
	if err != nil {
		return err
	}
	var plans []plan
	for _, d := range done {
		if !older[d.Result.origin] {
			plans = append(plans, d.Result.plans...)
		}
	}
	if len(plans) == 0 {
		return nil
	}
	if plans, err = s.measure(ctx, tx, plans); err != nil {
		return err
	}
	if err := s.endUnmet(ctx, tx, plans, actorDuePass); err != nil {
		return err
	}
	_, err = s.ensureBy(ctx, tx, distinct(plans), Event{}, actorDuePass) // a conflict has put its own row on hold
	return err
}

// distinct leaves out plans that ask for the same row with the same input.
func distinct(plans []plan) []plan {
	type identity struct {
		scope     Scope
		key, hash string
		unmet     bool
	}
	seen := map[identity]bool{}
	var out []plan
	for _, p := range plans {
		id := identity{p.want.Scope, p.want.Key, p.want.InputHash, p.unmet}
		if !seen[id] {
			seen[id] = true
			out = append(out, p)
		}
	}
	return out
}

// olderOrigins takes the rows of the sources that plans were derived from, and
// tells which of those states are out of date.
func olderOrigins(ctx context.Context, tx storage.Tx, done []work.Done[Schedule, *decision]) (map[Event]bool, error) {
	older := map[Event]bool{}
	var origins []Event
	for _, d := range done {
		origin := d.Result.origin
		if _, known := older[origin]; !known && len(d.Result.plans) > 0 && origin.Source != (Source{}) {
			older[origin] = false
			origins = append(origins, origin)
		}
	}
	if len(origins) == 0 {
		return older, nil
	}
	got, err := stamp(ctx, tx, origins...)
	for i, g := range got {
		older[origins[i]] = !g.fresh
	}
	return older, err
}

// dispatching is one run of dispatch; the first error ends it.
type dispatching struct {
	ctx     context.Context
	tx      storage.Tx
	done    []work.Done[Schedule, *decision]
	refused map[int]*notify.ConflictError // by place in done
	err     error
}

// send ensures one kind of artifact of all rows but those that were refused.
func send[A any](d *dispatching, pick func(Artifacts) []A, ensure func(context.Context, storage.Tx, ...A) ([]notify.Ensured, error)) {
	if d.err != nil {
		return
	}
	var all []A
	var owners []int
	for i, row := range d.done {
		if d.refused[i] != nil {
			continue
		}
		for _, a := range pick(row.Result.artifacts) {
			all, owners = append(all, a), append(owners, i)
		}
	}
	if len(all) == 0 {
		return
	}
	answers, err := ensure(d.ctx, d.tx, all...)
	if len(answers) != len(all) {
		if d.err = err; err == nil {
			d.err = fmt.Errorf("automation: the dispatcher gave %d answers for %d artifacts", len(answers), len(all))
		}
		return
	}
	for i, a := range answers {
		if a.Conflict != nil && d.refused[owners[i]] == nil {
			d.refused[owners[i]] = a.Conflict
		}
	}
}

// keepBlobs says that what the artifacts name is referenced.
func (d *dispatching) keepBlobs() {
	blobs := d.tx.Store().Blobs()
	for i, row := range d.done {
		a := row.Result.artifacts
		switch {
		case d.err != nil || d.refused[i] != nil || len(a.Blobs) == 0:
		case a.BlobsUntil.IsZero():
			d.err = blobs.Keep(d.ctx, d.tx, a.Blobs...)
		default:
			d.err = blobs.KeepUntil(d.ctx, d.tx, a.BlobsUntil, a.Blobs...)
		}
	}
}

// holdRefused puts the rows whose artifacts are in conflict on support hold.
func (d *dispatching) holdRefused() error {
	var held []*Schedule
	var notes []note
	for i, row := range d.done {
		if conflict := d.refused[i]; conflict != nil {
			notes = append(notes, note{row.Row, row.Row.past(), ActionHeld, string(DeliveryConflict)})
			row.Row.mergeResult(notify.DispatchResult{ConflictReason: string(DeliveryConflict)})
			row.Row.hold(DeliveryConflict, conflict.Error())
			held = append(held, row.Row)
		}
	}
	if err := schedules.Save(d.ctx, d.tx, held...); err != nil {
		return err
	}
	return tell(d.ctx, d.tx, actorDuePass, notes)
}
