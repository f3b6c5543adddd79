package automation

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// batch is a group of due rows of one type on their way through the steps.
type batch struct {
	s        *Scheduler
	tx       storage.Tx // of a rehearsal within a bound scheduler; else nil
	now      time.Time
	steps    []step
	reminder ReminderType // of reminders
	lateness Lateness     // of reminders and reports
	handler  Handler      // of a host's type
	tries    []*try
	memory   []try       // that of tries
	taken    []TraceStep // for traces
}

// try is one row of a batch. It is under way until a step fails it, stops it or
// completes it.
type try struct {
	row *Schedule
	ctx context.Context // ends when the lease is lost
	due Due
	at  string // the step that ended it

	err    error  // it failed
	broken bool   // err says that the row cannot be decoded
	stop   Reason // it is no longer wanted
	done   bool

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
	artifacts Artifacts
}

func (s *Scheduler) newBatch(items []work.Item[Schedule]) *batch {
	name := items[0].Row.Type
	b := &batch{s: s, now: s.now(), steps: hostSteps, lateness: s.registry.lateness(name)}
	if t, ok := s.registry.reminder(name); ok {
		b.reminder, b.steps = t, reminderSteps
	}
	if s.registry.isReport(name) {
		b.steps = reportSteps
	}
	b.handler, _ = s.registry.handler(name)
	b.memory = spareTries.take(len(items))
	b.tries = make([]*try, len(items))
	for i, item := range items {
		b.memory[i].row, b.memory[i].ctx = item.Row, item.Ctx
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

func (t *try) open() bool { return t.err == nil && t.stop == "" && !t.done }

// each calls f for every try under way; its error or panic fails that try only.
func (b *batch) each(f func(t *try) error) {
	for _, t := range b.open() {
		t.err = work.Guard(func() error { return f(t) })
	}
}

// settle changes the row into its next state and gives what has to exist beside.
func (t *try) settle(ctx context.Context, b *batch) *decision {
	switch {
	case t.err != nil && (ctx.Err() != nil || t.ctx.Err() != nil):
		t.row.giveBack(b.now) // shutdown, or the lease is lost: no try was made
	case t.broken:
		t.row.undecodable(b.now, t.err)
	case t.err != nil:
		t.row.fail(b.now, t.err, b.s.registry.longRunning(t.row.Type))
	case t.stop != "":
		t.row.mergeResult(t.result)
		t.row.skip(b.now, t.stop)
		return t.decision
	default:
		t.row.complete(b.now, t.result)
		return t.decision
	}
	// The error's text may hold personal data, so it stays in the row.
	b.s.opts.Logger.WarnContext(ctx, "belfry: due work failed", "type", t.row.Type, "id", t.row.ID,
		"step", t.at, "reason", t.row.ReasonCode, "status", t.row.Status, "retries", t.row.RetryCount)
	return nil
}
