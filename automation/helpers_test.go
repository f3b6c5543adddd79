package automation_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// start is where every clock begins: a Sunday, 1 March 2026, 08:00.
var start = storetest.Start

// each runs a test on every adapter.
func each(t *testing.T, test func(t *testing.T, store storage.Store, clk *clock.Mock)) {
	t.Helper()
	storetest.Each(t, test)
}

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is one process with a scheduler, and what it dispatched.
type world struct {
	t     *testing.T
	ctx   context.Context
	store storage.Store
	clk   *clock.Mock
	out   *recorder
	opts  automation.Options // of s
	s     *automation.Scheduler
}

// eachWorld runs a story on every adapter.
func eachWorld(t *testing.T, story func(w *world)) {
	t.Helper()
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) { story(newWorld(t, store, clk, nil)) })
}

func newWorld(t *testing.T, store storage.Store, clk *clock.Mock, opts *automation.Options) *world {
	t.Helper()
	if opts == nil {
		opts = &automation.Options{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	w := &world{t: t, ctx: t.Context(), store: store, clk: clk, opts: *opts}
	w.out = &recorder{Notifier: notify.New(store, nil)}
	w.s = automation.New(store, w.out, opts)
	return w
}

// recorder is a dispatcher that notes what reaches it.
type recorder struct {
	*notify.Notifier
	mu        sync.Mutex
	jobs      []notify.Job
	schedules []notify.Schedule
	fail      error // of EnsureNotificationJob
}

func (r *recorder) EnsureNotificationJob(ctx context.Context, tx storage.Tx, jobs ...notify.Job) ([]notify.Ensured, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return nil, r.fail
	}
	r.jobs = append(r.jobs, jobs...)
	return r.Notifier.EnsureNotificationJob(ctx, tx, jobs...)
}

func (r *recorder) EnsureNotificationScheduler(ctx context.Context, tx storage.Tx, want ...notify.Schedule) ([]notify.Ensured, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schedules = append(r.schedules, want...)
	return r.Notifier.EnsureNotificationScheduler(ctx, tx, want...)
}

// dispatched lists the scheduler keys of the jobs so far, in order.
func (r *recorder) dispatched() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []string{}
	for _, j := range r.jobs {
		out = append(out, j.SourceKey)
	}
	slices.Sort(out)
	return out
}

// sam is who everybody writes to.
var sam = notify.Recipient{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}

func toSam(context.Context, automation.Due) ([]notify.Recipient, error) {
	return []notify.Recipient{sam}, nil
}

// certificates is a reminder type with what a change function adds.
func certificates(change func(*automation.ReminderType)) automation.ReminderType {
	t := automation.ReminderType{
		Name: "certificate", Template: notify.Template{Subject: "{{.Source.ID}}"},
		Recipients: automation.RecipientFunc(toSam), SendAt: "09:00", Zone: "UTC",
	}
	if change != nil {
		change(&t)
	}
	return t
}

// candidate is 30 days before the first of May: due on the first of April.
func candidate(change func(*automation.Candidate)) automation.Candidate {
	c := automation.Candidate{
		Type: "certificate", Source: automation.Source{"employee", "7"}, TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1},
		DaysBefore: 30, SendAt: "09:00", Zone: "UTC",
	}
	if change != nil {
		change(&c)
	}
	return c
}

const certificateKey = "reminder:certificate:employee:7:default:2026-05-01:30"

func (w *world) ensure(c ...automation.Candidate) []automation.Ensured {
	w.t.Helper()
	out, err := w.s.Ensure(w.ctx, c...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// handle tells an event, which may be stale.
func (w *world) handle(e automation.Event) automation.EventResult {
	w.t.Helper()
	out, err := w.s.HandleEvent(w.ctx, e)
	w.must(unlessStale(out, err))
	return out
}

// unlessStale is the error beside a result, but for that of a stale event, which has one.
func unlessStale(r automation.EventResult, err error) error {
	if stale := errors.Is(err, automation.ErrStaleEvent); stale != (r.Outcome == automation.EventStale) {
		return fmt.Errorf("the outcome is %s beside the error %w", r.Outcome, err)
	} else if stale {
		return nil
	}
	return err
}

// poll runs the due pass once.
func (w *world) poll() work.Report {
	w.t.Helper()
	report, err := w.runner().Poll(w.ctx, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// passOf is one of the passes of a scheduler.
func passOf(s *automation.Scheduler, name string) work.Pass {
	passes := s.Passes()
	return passes[slices.IndexFunc(passes, func(p work.Pass) bool { return p.Name() == name })]
}

func (w *world) runner() work.Runner {
	return passOf(w.s, "automation").Runner(work.Options{Logger: w.opts.Logger})
}

// pollAt moves the clock and polls.
func (w *world) pollAt(on time.Time) work.Report {
	w.t.Helper()
	w.clk.Set(on)
	return w.poll()
}

func (w *world) row(key string) automation.ScheduleRow {
	w.t.Helper()
	return w.rowIn("", key)
}

func (w *world) rowIn(scope automation.Scope, key string) automation.ScheduleRow {
	w.t.Helper()
	var row *automation.ScheduleRow
	err := w.store.InTx(w.ctx, func(tx storage.Tx) (err error) {
		row, err = automation.Schedules.Get(w.ctx, tx, scope, key)
		return err
	})
	if err != nil {
		w.t.Fatalf("%s: %v", key, err)
	}
	return *row
}

// rows are all rows of the empty scope, by key.
func (w *world) rows() map[string]automation.ScheduleRow {
	w.t.Helper()
	out := map[string]automation.ScheduleRow{}
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		rows, err := automation.Schedules.Find(w.ctx, tx, "", driver.Query{Limit: 10000})
		for _, r := range rows {
			out[r.Key] = *r
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// statuses are the rows of the empty scope with what became of them.
func (w *world) statuses() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for key, r := range w.rows() {
		out[key] = r.Status
		if r.ReasonCode != "" {
			out[key] += " " + r.ReasonCode
		}
		if r.IsOnSupportHold {
			out[key] += " held " + r.HoldReason
		}
	}
	return out
}

// change writes a row as a test wants to find it.
func (w *world) change(key string, f func(*automation.ScheduleRow)) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		row, err := automation.Schedules.Get(w.ctx, tx, "", key)
		if err != nil {
			return err
		}
		f(row)
		row.DueOn = automation.RowDueOn(row)
		return automation.Schedules.Save(w.ctx, tx, row)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// claim takes the due rows like a worker that then dies or stalls.
func (w *world) claim(lease time.Duration) (rows []*automation.ScheduleRow) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		rows = w.claimIn(tx, lease)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

func (w *world) claimIn(tx storage.Tx, lease time.Duration) []*automation.ScheduleRow {
	w.t.Helper()
	now := driver.Now(w.store)
	rows, err := automation.Schedules.Claim(w.ctx, tx, driver.Claim{
		Statuses: []string{automation.StatusPending}, Busy: automation.StatusProcessing, Kinds: nil, Token: fmt.Sprint("dead ", now.UnixNano()),
		Lanes: []driver.LaneClaim{{Lane: 0, Limit: 100}, {Lane: -1, Limit: 100}}, Now: now, LeaseUntil: now.Add(lease),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

var errBoom = errors.New("boom")

// triggers is a TriggerProvider whose answer a story changes.
type triggers struct {
	mu         sync.Mutex
	candidates []automation.Candidate
	settings   []string
	err        error
	panics     bool
}

func (p *triggers) EventTypes() []string { return []string{"certificate-changed"} }

func (p *triggers) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.panics {
		panic("a provider of the host")
	}
	return slices.Repeat([]automation.Answer{{Settings: p.settings, Candidates: slices.Clone(p.candidates)}}, len(of)), p.err
}

// wants answers requests by what each source asks for.
func wants(of []automation.Request, asks func(automation.Request) []automation.Candidate) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (automation.Answer, error) {
		return automation.Answer{Candidates: asks(r)}, nil
	})
}

func (p *triggers) set(c ...automation.Candidate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.candidates = c
}

// offsets are candidates of one target date.
func offsets(date automation.Date, days ...int) []automation.Candidate {
	var out []automation.Candidate
	for _, n := range days {
		out = append(out, automation.Candidate{TargetDate: date, DaysBefore: n})
	}
	return out
}

func changed(version int64) automation.Event {
	return automation.Event{ID: fmt.Sprint("e", version), Type: "certificate-changed", Source: automation.Source{"employee", "7"}, Version: version}
}

func date(y int, m time.Month, d int) automation.Date {
	return automation.Date{Year: y, Month: m, Day: d}
}

func day(y int, m time.Month, d, hour int) time.Time {
	return time.Date(y, m, d, hour, 0, 0, 0, time.UTC)
}

func failing(err error) automation.RecipientFunc {
	return func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, err }
}

// validIf is the answer of a validator that knows no more than that.
func validIf(valid bool) automation.Validity {
	if valid {
		return automation.StillValid()
	}
	return automation.NoLongerValid("")
}

var ann = automation.By{Actor: "ann", Reason: "a call from the school"}

// drain runs a pass until it finds nothing.
func (w *world) drain(pass work.Pass) {
	w.t.Helper()
	runner := pass.Runner(work.Options{Logger: w.opts.Logger})
	for {
		report, err := runner.Poll(w.ctx, 100)
		if err != nil {
			w.t.Fatal(err)
		}
		if report.Claimed == 0 {
			return
		}
	}
}

// textOf reads a column of a row whose type is another package's own.
func textOf(s *driver.Schema, r driver.Row, column string) string {
	return *s.Column(column).Text(driver.FieldsOf(r))
}
