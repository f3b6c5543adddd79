package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
)

// duePass is what a Poller runs over automation_scheduler.
func (s worker) duePass() work.Pass {
	return work.New(s.store, s.dueSpec("automation", 0, s.registry.ordinaryTypes))
}

// dueSpec is the due pass over rows of some types, a group of so many at once.
func (s worker) dueSpec(name string, group int, types func() []string) work.Spec[scheduleRow, *decision] {
	return work.Spec[scheduleRow, *decision]{
		Name: name, Table: schedules, Group: group,
		Claimable: []string{StatusPending}, Busy: StatusProcessing, Types: types, Except: s.paused,
		Limit:  s.registry.callTimeout,
		Handle: s.handle, Settled: s.settled, Dispatch: s.dispatch,
		Fail: func(now time.Time, r *scheduleRow, err error) { r.fail(now, err, s.registry.longRunning(r.Kind)) },
		Abandon: func(now time.Time, r *scheduleRow) {
			s.registry.leaseLosses.Add(1)
			r.lose(now, s.registry.longRunning(r.Kind))
		},
		Release: func(now time.Time, r *scheduleRow) { r.giveBack(now) },
	}
}

// unservedPass puts on hold rows whose type no process has, and lets them go on when one
// has.
func (s worker) unservedPass() work.Pass {
	return unserved.Pass{
		Title: "automation.unserved", Store: s.store, After: s.opts.UnclaimedAfter, Logger: s.opts.Logger,
		Tables: []unserved.Watched{unserved.Table[scheduleRow]{
			Rows: schedules, Serves: s.registry.types, Waiting: []string{StatusPending, StatusProcessing}, Hold: string(reasons.Unserved),
			Stop: func(_ time.Time, r *scheduleRow) {
				r.hold(reasons.Unserved, fmt.Sprintf("no process has registered %q for %s", r.Kind, s.opts.UnclaimedAfter))
			},
			Abandon: func(now time.Time, r *scheduleRow) { r.lose(now, s.registry.longRunning(r.Kind)) },
			Resume:  func(now time.Time, r *scheduleRow) { r.unhold(now) },
		}},
	}
}

// handle decides about a group of rows of one type.
func (s worker) handle(ctx context.Context, items []work.Item[scheduleRow]) ([]*decision, error) {
	b := s.newBatch(items)
	b.run(ctx)
	out := make([]*decision, len(b.tries))
	for i, t := range b.tries {
		out[i] = t.settle(ctx, b)
	}
	b.writeTraces(ctx)
	b.end()
	return out, nil
}

// step is one named part of the due pass. It looks at the tries that are still
// under way, and ends those about which it can say the last word.
type step struct {
	name string
	do   func(b *batch, ctx context.Context)
}

// reminderSteps are what a due reminder goes through (Automation & Reminders,
// "Execution-time revalidation").
var reminderSteps = []step{
	{"decode", (*batch).decode},
	{"rollout", (*batch).checkRollout},
	{"settings", (*batch).loadSettings},
	{"readings", (*batch).loadReadings},
	{"current", (*batch).checkCurrent},
	{"lateness", (*batch).checkLateness},
	{"overtaken", (*batch).checkOvertaken},
	{"revalidate", (*batch).revalidate},
	{"recipients", (*batch).resolveRecipients},
	{"policy", (*batch).applyPolicy},
	{"artifacts", (*batch).makeArtifacts},
}

// validitySteps say whether a row is still wanted.
var validitySteps = []step{
	{"decode", (*batch).decode},
	{"settings", (*batch).loadSettings},
	{"readings", (*batch).loadReadings},
	{"current", (*batch).checkCurrent},
	{"revalidate", (*batch).revalidate},
}

// workSteps are what a row of a host's type, or a run of a report, goes through; its
// settings are the handler's own business.
var workSteps = []step{
	{"decode", (*batch).decode},
	{"rollout", (*batch).checkRollout},
	{"lateness", (*batch).checkLateness},
	{"overtaken", (*batch).checkOvertaken},
	{"handler", (*batch).askHandler},
}

// decode reads the row's columns; what cannot be read is put on hold.
func (b *batch) decode(context.Context) {
	for _, t := range b.open() {
		t.due, t.err = t.row.due()
		t.broken = t.err != nil
	}
}

// loadSettings asks for the settings of all rows at once. If that fails they are
// asked for one by one, so that a bad one fails its own rows only.
func (b *batch) loadSettings(ctx context.Context) {
	all := b.bySetting()
	var err error
	if b.epochs, err = b.s.epochsAhead(ctx, slices.Collect(maps.Keys(all))...); err != nil {
		for _, t := range b.open() {
			t.err = err
		}
		return
	}
	for scope, bySetting := range all {
		ids := slices.Collect(maps.Keys(bySetting))
		if b.loadSome(ctx, scope, ids, bySetting) == nil {
			continue
		}
		for _, id := range ids {
			err := b.loadSome(ctx, scope, []string{id}, bySetting)
			for _, t := range bySetting[id] {
				t.err = err
			}
		}
	}
}

// bySetting sorts the tries under way.
func (b *batch) bySetting() map[Scope]map[string][]*try {
	out := map[Scope]map[string][]*try{}
	for _, t := range b.open() {
		of := out[t.row.Scope]
		if of == nil {
			of = map[string][]*try{}
			out[t.row.Scope] = of
		}
		of[t.row.Setting] = append(of[t.row.Setting], t)
	}
	return out
}

func (b *batch) loadSome(ctx context.Context, scope Scope, ids []string, bySetting map[string][]*try) error {
	var loaded []Setting
	err := work.Guard(func() (err error) {
		loaded, err = b.s.settings(ctx, scope, ids)
		return err
	})
	for i, setting := range loaded {
		for _, t := range bySetting[ids[i]] {
			t.due.Setting = setting
			if !setting.Active {
				t.stop = reasons.ReminderSettingInactive
			}
		}
	}
	return err
}

// revalidate asks whether the source still wants what the row stands for.
func (b *batch) revalidate(context.Context) {
	if b.reminder.Validator == nil {
		return
	}
	b.each(func(t *try) error {
		v, err := b.reminder.Validator.Validate(t.ctx, t.due)
		if err != nil {
			return err
		}
		t.validity, t.stop = v.word(), v.why()
		return nil
	})
}

// change ends a row whose source asks for other plans now, and has those ensured. If
// the row is known to them, it is one of a condition that is no longer met.
func (t *try) change(b *batch, known bool, version int64, plans []plan) {
	t.stop = reasons.InputChanged
	if known {
		t.stop = reasons.ThresholdNoLongerMet
	}
	t.ask(b, version, plans)
}

// ask has plans ensured in the transaction that settles the row.
func (t *try) ask(b *batch, version int64, plans []plan) {
	origin := Event{Scope: t.row.Scope, Type: string(reasons.InputChanged), Source: t.due.Source, Version: version, Stream: t.stream}
	t.decision = &decision{plans: readAt(origin, plans), origin: origin, epochs: b.epochs}
}

// resolveRecipients asks whom to tell.
func (b *batch) resolveRecipients(ctx context.Context) {
	if batch, ok := b.reminder.Recipients.(BatchRecipientProvider); ok {
		b.resolveTogether(ctx, batch, b.open())
	} else {
		b.each(func(t *try) (err error) {
			t.to, err = b.reminder.Recipients.Recipients(t.ctx, t.due)
			return err
		})
	}
	for _, t := range b.open() {
		if t.resolved = len(t.to); t.resolved == 0 {
			t.stop = reasons.NoRecipients
		}
	}
}

// resolveTogether asks for many rows at once, and if that fails row by row.
func (b *batch) resolveTogether(ctx context.Context, p BatchRecipientProvider, tries []*try) {
	due := make([]Due, len(tries))
	for i, t := range tries {
		due[i] = t.due
	}
	var to [][]notify.Recipient
	err := work.Guard(func() (err error) {
		to, err = p.RecipientsOf(ctx, due)
		if err == nil && len(to) != len(due) {
			err = fmt.Errorf("automation: %d lists of recipients for %d rows", len(to), len(due))
		}
		return err
	})
	switch {
	case err == nil:
		for i, t := range tries {
			t.to = to[i]
		}
	case len(tries) == 1:
		tries[0].err = err
	default:
		for _, t := range tries {
			b.resolveTogether(ctx, p, []*try{t})
		}
	}
}

// applyPolicy gives the host the last word on recipients and channels.
func (b *batch) applyPolicy(context.Context) {
	if b.reminder.Policy == nil {
		return
	}
	b.each(func(t *try) (err error) {
		t.to, err = b.reminder.Policy.Deliver(t.ctx, t.due, t.to)
		if err == nil && len(t.to) == 0 {
			t.stop = reasons.SkippedByPolicy
		}
		return err
	})
}

// askHandler lets the host's handler decide about all rows under way.
func (b *batch) askHandler(ctx context.Context) {
	if tries := b.open(); len(tries) > 0 {
		b.askTogether(ctx, tries)
	}
}

// askTogether asks about many rows at once, and if that fails row by row.
func (b *batch) askTogether(ctx context.Context, tries []*try) {
	due := make([]Due, len(tries))
	for i, t := range tries {
		due[i] = t.due
	}
	if len(tries) == 1 {
		ctx = tries[0].ctx
	}
	var outcomes []Outcome
	err := work.Guard(func() (err error) {
		outcomes, err = b.handler.Handle(ctx, due)
		if err == nil && len(outcomes) != len(due) {
			err = fmt.Errorf("automation: the handler of %s gave %d outcomes for %d rows", tries[0].row.Kind, len(outcomes), len(due))
		}
		return err
	})
	switch {
	case err == nil:
		for i, t := range tries {
			t.take(ctx, b.s, outcomes[i])
		}
	case len(tries) == 1:
		tries[0].err = err
	default:
		for _, t := range tries {
			b.askTogether(ctx, []*try{t})
		}
	}
}

// take checks an outcome and makes it the try's. What would be refused later is
// refused here, as a failure of this row.
func (t *try) take(ctx context.Context, s *core, o Outcome) {
	if t.err = o.Err; t.err != nil {
		return
	}
	plans, err := s.planner().plans(ctx, o.Candidates)
	if err != nil {
		t.err = err
		return
	}
	t.stop, t.result, t.done = o.Deactivate, o.Result, o.Deactivate == ""
	if !o.Artifacts.empty() {
		if t.row.AutomationType == TypeReportSubscription {
			o.Artifacts.AutomationJobs = append(o.Artifacts.AutomationJobs, t.mirror())
		}
		t.decision = &decision{plans: plans, artifacts: o.Artifacts}
	}
}

// reportPass is the due pass over runs of reports: one run in a group, so that
// each is settled when it is done, and few of them claimed ahead, so that other
// processes find some as well. It rests while no type of report is registered.
type reportPass struct{ s *core }

func (p reportPass) Name() string { return "automation.report" }

// defaultBuilds is how many reports a poller builds at once, unless it says so.
const defaultBuilds = 8

func (p reportPass) Runner(o work.Options) work.Runner {
	o.Batch = min(cmp.Or(o.Batch, defaultBuilds), cmp.Or(o.Concurrency, defaultBuilds))
	o.InFlight = 2 * o.Batch
	pass := work.New(p.s.store, p.s.worker().dueSpec(p.Name(), 1, func() []string {
		names, _ := p.s.registry.reportTypes()
		return names
	}))
	return &reportRunner{inner: pass.Runner(o), s: p.s}
}

type reportRunner struct {
	inner work.Runner
	s     *core
}

func (r *reportRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	if names, _ := r.s.registry.reportTypes(); len(names) == 0 {
		return work.Report{}, nil
	}
	return r.inner.Poll(ctx, batch)
}

// Liveness is none while there is no type of report.
func (r *reportRunner) Liveness() []work.Liveness {
	if names, _ := r.s.registry.reportTypes(); len(names) == 0 {
		return nil
	}
	return r.inner.Liveness()
}

func (r *reportRunner) Run(ctx context.Context) error {
	for names, added := r.s.registry.reportTypes(); len(names) == 0; names, added = r.s.registry.reportTypes() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-added:
		}
	}
	return r.inner.Run(ctx)
}

func isPanic(err error) bool {
	var p *work.PanicError
	return errors.As(err, &p)
}
