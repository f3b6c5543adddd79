package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// batch is a group of due rows of one type on their way through the steps.
type batch struct {
	s        *core
	tx       storage.Tx // of a rehearsal within a bound scheduler; else nil
	now      time.Time
	steps    []step
	reminder ReminderType // of reminders
	lateness Lateness     // of reminders and reports
	handler  Handler      // of a host's type
	tries    []*try
	memory   []try       // that of tries
	taken    []TraceStep // for traces
	epochs   epochs      // in which its rows are compared with what is wanted now
}

// try is one row of a batch. It is under way until a step fails it, stops it or
// completes it.
type try struct {
	row *scheduleRow
	ctx context.Context // ends when the lease is lost
	due Due
	at  string // the step that ended it
	// stream is what versions of the row's source count.
	stream string

	err    error  // it failed
	broken bool   // err says that the row cannot be decoded
	stop   Reason // it is no longer wanted
	done   bool
	later  bool      // it is wanted at a later moment, which decision asks for
	moment time.Time // at which it is wanted now, where that is known

	validity string // what the validator answered
	resolved int    // recipients before the policy
	to       []notify.Recipient
	decision *decision // nil: nothing
	result   notify.DispatchResult
}

// decision is what a try wants to exist beside the settled row. Most rows of a
// host's type want nothing, so it is passed on by pointer.
type decision struct {
	plans     []plan // rows of automation's own
	origin    Event  // the state of the source that plans were made from
	epochs    epochs // in which they were made; nil: by the host
	artifacts Artifacts
	before    json.RawMessage // the row's dispatch result, as it was found
}

func (s worker) newBatch(items []work.Item[scheduleRow]) *batch {
	name := items[0].Row.Kind
	b := &batch{s: s.core, now: s.now(), steps: workSteps, lateness: s.registry.lateness(name)}
	if t, ok := s.registry.reminder(name); ok {
		b.reminder, b.steps = t, reminderSteps
	}
	b.handler, _ = s.registry.handler(name)
	b.memory = spareTries.take(len(items))
	b.tries = make([]*try, len(items))
	for i, item := range items {
		b.memory[i].row, b.memory[i].ctx, b.memory[i].stream = item.Row, item.Ctx, b.reminder.Stream
		b.tries[i] = &b.memory[i]
	}
	return b
}

// end gives the tries' memory back; it may be left out.
func (b *batch) end() { spareTries.giveBack(b.memory) }

func (b *batch) run(ctx context.Context) {
	for _, step := range b.steps {
		step.do(b, ctx)
		b.note(step)
		for _, t := range b.tries {
			if t.at == "" && !t.open() {
				t.at = step.name
			}
		}
	}
}

// note remembers that a step was taken, if traces are kept.
func (b *batch) note(s step) {
	if b.s.opts.Traces != nil {
		b.taken = append(b.taken, TraceStep{s.name, b.s.now()})
	}
}

// open are the tries that are under way.
func (b *batch) open() []*try {
	out := make([]*try, 0, len(b.tries))
	for _, t := range b.tries {
		if t.open() {
			out = append(out, t)
		}
	}
	return out
}

func (t *try) open() bool { return t.err == nil && t.stop == "" && !t.done && !t.later }

// each calls f for every try under way; its error or panic fails that try only.
func (b *batch) each(f func(t *try) error) {
	open := b.open()
	work.GuardEach(len(open), func(i int) error { return f(open[i]) }, func(i int, err error) { open[i].err = err })
}

// settle changes the row into its next state and gives what has to exist beside.
func (t *try) settle(ctx context.Context, b *batch) *decision {
	switch {
	case t.err != nil && (work.Interrupted(ctx) || work.Interrupted(t.ctx)):
		t.row.giveBack(b.now) // shutdown, or the lease is lost: no try was made
	case errors.Is(t.err, storage.ErrUnavailable): // counts as no try either
		t.row.giveBack(b.now)
		t.row.DueOn = driver.Time(b.now.Add(work.AwayWait)) // it was due
	case t.broken:
		t.row.undecodable(b.now, t.err)
	case t.err != nil:
		t.row.fail(b.now, t.err, b.s.registry.longRunning(t.row.Kind))
	case t.later:
		t.row.giveBack(b.now)
		return t.decision
	case t.stop != "":
		t.row.mergeResult(t.result)
		t.row.skip(b.now, t.stop)
		return t.decision
	default:
		if t.decision != nil {
			t.decision.before = t.row.DispatchResult
		}
		t.row.complete(b.now, t.result)
		return t.decision
	}
	// The error's text may hold personal data, so it stays in the row.
	b.s.opts.Logger.WarnContext(ctx, "belfry: due work failed", "type", t.row.Kind, "id", t.row.ID,
		"step", t.at, "reason", t.row.ReasonCode, "status", t.row.Status, "retries", t.row.RetryCount)
	return nil
}

// dispatch makes what the settled rows decided exist, in the transaction that
// settled them: automation's own rows first, then each kind of artifact in one
// call and always in the same order, so that passes do not lock each other out.
func (s worker) dispatch(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, *decision]) error {
	done, taken, err := s.rollout().acquire(ctx, tx, done)
	if err != nil {
		return err
	}
	done = slices.DeleteFunc(done, func(d work.Done[scheduleRow, *decision]) bool { return d.Result == nil })
	if len(done) == 0 {
		return nil
	}
	if err := s.dispatchOwn(ctx, tx, done); err != nil {
		return err
	}
	if err := s.recurrer().followChanged(ctx, tx, done); err != nil {
		return err
	}
	d := dispatching{ctx: ctx, tx: tx, done: done, refused: map[int]*notify.ConflictError{}, made: map[int]notify.DispatchResult{}}
	send(&d, func(a Artifacts) []notify.AutomationJob { return a.AutomationJobs }, s.out.EnsureAutomationJob, nil)
	send(&d, func(a Artifacts) []notify.Job { return a.Jobs }, s.out.EnsureNotificationJob, nil)
	send(&d, func(a Artifacts) []notify.MessagingJob { return a.MessagingJobs }, s.out.EnsureMessagingJob, nil)
	send(&d, func(a Artifacts) []notify.Schedule { return a.Schedules }, s.out.EnsureNotificationScheduler, nil)
	send(&d, func(a Artifacts) []notify.UserMessage { return a.UserMessages }, s.out.EnsureUserMessage, userMessageAt)
	send(&d, func(a Artifacts) []notify.OutgoingMessage { return a.OutgoingMessages }, s.out.EnsureOutgoingMessage, outgoingMessageAt)
	d.keepBlobs()
	if d.err != nil {
		return d.err
	}
	if err := d.keepCoordinates(); err != nil {
		return err
	}
	return d.holdRefused(s.now(), taken)
}

// userMessageAt and outgoingMessageAt are results that name one message.
func userMessageAt(at notify.Coordinates) notify.DispatchResult {
	return notify.DispatchResult{UserMessages: []notify.Coordinates{at}}
}

func outgoingMessageAt(at notify.Coordinates) notify.DispatchResult {
	return notify.DispatchResult{OutgoingMessages: []notify.Coordinates{at}}
}

// dispatchOwn ensures rows of automation_scheduler, each once. Those that were
// derived from a source's state take the source's row first, and are left out if
// an event with a newer state was there before.
func (s worker) dispatchOwn(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, *decision]) error {
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
	if err := s.planOutdatedAgain(ctx, tx, done); err != nil {
		return err
	}
	if plans, err = s.planner().current(within(ctx, tx), plans); err != nil {
		return err
	}
	if plans, err = s.ensurer().measure(ctx, tx, plans); err != nil {
		return err
	}
	if err := s.ensurer().endUnmet(ctx, tx, plans, actorDuePass); err != nil {
		return err
	}
	_, err = s.ensurer().ensureBy(ctx, tx, distinct(plans), Event{}, actorDuePass) // a conflict has put its own row on hold
	return err
}

// planOutdatedAgain has the re-plan of a type begin again, if due rows of it are planned in a
// scope in which something has changed meanwhile: it may have passed their sources already.
func (s worker) planOutdatedAgain(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, *decision]) error {
	outdated, err := s.outdatedScopes(ctx, tx, done)
	if err != nil {
		return err
	}
	var again []Replan
	for _, d := range done {
		what := Replan{Scope: d.Row.Scope, Type: d.Row.Kind}
		if d.Result.epochs != nil && len(d.Result.plans) > 0 && outdated[d.Row.Scope] && !slices.Contains(again, what) {
			again = append(again, what)
		}
	}
	_, err = walkAgain(ctx, tx, again)
	return err
}

// outdatedScopes are those in which something has changed since plans of due rows were made.
func (s worker) outdatedScopes(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, *decision]) (map[Scope]bool, error) {
	planned := epochs{}
	for _, d := range done {
		if epoch, of := d.Result.epochs[d.Row.Scope]; of && len(d.Result.plans) > 0 {
			if before, several := planned[d.Row.Scope]; several {
				epoch = min(epoch, before)
			}
			planned[d.Row.Scope] = epoch
		}
	}
	out := map[Scope]bool{}
	if len(planned) == 0 {
		return out, nil
	}
	now, err := s.readEpochs(ctx, tx, slices.Collect(maps.Keys(planned)))
	for scope, epoch := range now {
		out[scope] = epoch != planned[scope]
	}
	return out, err
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
func olderOrigins(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, *decision]) (map[Event]bool, error) {
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
	done    []work.Done[scheduleRow, *decision]
	refused map[int]*notify.ConflictError // by place in done
	made    map[int]notify.DispatchResult // likewise: messages whose coordinates only their Ensure tells
	err     error
}

// send ensures one kind of artifact of all rows but those that were refused. result
// is what says that one was made; nil: the row says so already.
func send[A any](d *dispatching, pick func(Artifacts) []A, ensure func(context.Context, storage.Tx, ...A) ([]notify.Ensured, error),
	result func(notify.Coordinates) notify.DispatchResult,
) {
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
		switch {
		case a.Conflict != nil && d.refused[owners[i]] == nil:
			d.refused[owners[i]] = a.Conflict
		case a.Conflict == nil && result != nil:
			d.made[owners[i]] = d.made[owners[i]].Merge(result(a.Coordinates))
		}
	}
}

// keepCoordinates writes into the rows where the messages are that were made for them.
func (d *dispatching) keepCoordinates() error {
	var rows []*scheduleRow
	for i, row := range d.done {
		if made, ok := d.made[i]; ok {
			row.Row.mergeResult(made)
			rows = append(rows, row.Row)
		}
	}
	return schedules.Save(d.ctx, d.tx, rows...)
}

// keepBlobs says that what the artifacts name is referenced.
func (d *dispatching) keepBlobs() {
	blobs := d.tx.Store().Blobs()
	for i, row := range d.done {
		a := row.Result.artifacts
		switch {
		case d.err != nil || d.refused[i] != nil || len(a.Blobs) == 0:
		case a.BlobsUntil.IsZero():
			d.err = blobs.Keep(d.ctx, d.tx, storage.Owned{Scope: row.Row.Scope, Table: schedules.Name, Key: row.Row.Key, Refs: a.Blobs})
		default:
			d.err = blobs.KeepUntil(d.ctx, d.tx, a.BlobsUntil, a.Blobs...)
		}
	}
}

// holdRefused puts the rows whose artifacts are in conflict on support hold, as Failed: nothing
// is queued, and a person may cancel them, or have them tried again.
func (d *dispatching) holdRefused(now time.Time, taken taken) error {
	var held []*scheduleRow
	var notes []note
	for i, row := range d.done {
		if conflict := d.refused[i]; conflict != nil {
			notes = append(notes, note{row.Row, row.Row.past(), actionHeld, string(reasons.DeliveryConflict)})
			row.Row.yield(now, reasons.DeliveryConflict, conflict.Error(), row.Result.before)
			held = append(held, row.Row)
		}
	}
	if err := schedules.Save(d.ctx, d.tx, held...); err != nil {
		return err
	}
	if err := taken.giveBack(d.ctx, d.tx, held); err != nil {
		return err
	}
	return tell(d.ctx, d.tx, actorDuePass, notes)
}

// spare keeps the memory of slices from one call to the next, of what is as large
// as a row: plans made a third of the garbage of a thousand known candidates, tries
// a fifth of that of due rows.
type spare[T any] struct{ pool sync.Pool }

var (
	sparePlans spare[plan]
	spareTries spare[try]
)

// few values are not worth keeping; most calls that plan have none.
const few = 16

// take gives n zero values.
func (s *spare[T]) take(n int) []T {
	if n < few {
		return make([]T, n)
	}
	if p, ok := s.pool.Get().(*[]T); ok && cap(*p) >= n {
		return (*p)[:n]
	}
	return make([]T, n)
}

// giveBack takes back what nothing points to any more.
func (s *spare[T]) giveBack(v []T) {
	if cap(v) < few {
		return
	}
	clear(v)
	s.pool.Put(&v)
}
