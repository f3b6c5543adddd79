package automation_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// Events, changes of settings, polls, crashes, support and reconciliation in any
// order end, once faults are over, as a simple model says: what the host wants
// is delivered once, what it does not want is not, with a reason, and what was
// delivered stays. Twenty times a hundred stories; rapid tells how to repeat one
// that fails.
func TestI13_I14_I18_I21_AnyInterleavingConverges(t *testing.T) {
	testlevel.Need(t, testlevel.Nightly) // stories at random; those of known seeds are in check
	t.Parallel()
	for n := range 20 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				clk := newHandClock()
				c := newChaos(t.Context(), memory.New(&memory.Options{Clock: clk}), clk, 0)
				if wrong := c.play(stories.Draw(rt, "story")); len(wrong) > 0 {
					rt.Fatal(wrong)
				}
			})
		})
	}
}

// The same on every adapter, with stories of known seeds: a number repeats one.
func TestI13_I14_I18_I21_StoriesOfKnownSeedsConverge(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]struct {
		open  func(testing.TB, clock.Clock) storage.Store
		seeds int
	}{
		"memory":   {func(_ testing.TB, clk clock.Clock) storage.Store { return memory.New(&memory.Options{Clock: clk}) }, 200},
		"sqlite":   {storetest.SQLite, 30},
		"postgres": {storetest.Postgres, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := newHandClock()
			store := on.open(t, clk)
			for seed := range on.seeds {
				if name == "memory" {
					store = on.open(t, clk)
				}
				clk.set(start)
				story := stories.Example(seed)
				if wrong := newChaos(t.Context(), store, clk, seed).play(story); len(wrong) > 0 {
					t.Fatalf("seed %d: %v\n%+v", seed, wrong, story)
				}
			}
		})
	}
}

// handClock moves when it is told to, and wakes nobody, which costs nothing.
type handClock struct {
	*clock.Mock
	now atomic.Int64
}

func newHandClock() *handClock {
	c := &handClock{Mock: clock.NewMock()}
	c.set(start)
	return c
}

func (c *handClock) set(on time.Time)    { c.now.Store(on.UnixMicro()) }
func (c *handClock) Now() time.Time      { return time.UnixMicro(c.now.Load()).UTC() }
func (c *handClock) Add(d time.Duration) { c.set(c.Now().Add(d)) }

var quiet = slog.New(slog.DiscardHandler)

// chaos is one story under way.
type chaos struct {
	ctx   context.Context
	clk   *handClock
	store *storetest.Spy
	host  *school
	two   [2]process

	events  []automation.Event
	paused  bool
	stopped map[string]automation.Reason      // what support holds or has cancelled
	told    map[string]int64                  // the newest version of each pupil that an event told
	revived map[string]bool                   // what support released or retried
	ended   map[string]bool                   // what events ended since the poll under way began
	done    map[string]automation.ScheduleRow // completed rows as they were first seen
	then    []deed                            // what happens in the handler of this poll
	faults  []string
}

// process is one of those that share the store.
type process struct {
	s         *automation.Scheduler
	due, scan work.Runner
}

func newChaos(ctx context.Context, store storage.Store, clk *handClock, n int) *chaos {
	c := &chaos{
		ctx: ctx, clk: clk, store: &storetest.Spy{Store: store},
		stopped: map[string]automation.Reason{}, told: map[string]int64{}, revived: map[string]bool{}, ended: map[string]bool{}, done: map[string]automation.ScheduleRow{},
	}
	exam, bus := fmt.Sprint("exam", n), fmt.Sprint("bus", n)
	c.host = &school{
		scope: automation.Scope(fmt.Sprint("school", n)), now: clk.Now, valid: map[string]bool{}, met: c.met,
		rules:  map[string]rule{exam: {offsets: []int{0, 2}, hour: 9}, bus: {offsets: []int{1}, hour: 7}},
		pupils: map[string]pupil{"ada": {exam: 3, version: 1}, "bob": {exam: 6, lessons: manyLessons, version: 1}, "eve": {exam: 4}},
	}
	for i := range c.two {
		s := automation.New(c.store, post{notify.New(c.store, nil), c}, &automation.Options{Settings: c.host, Logger: quiet})
		c.host.register(s)
		c.two[i] = process{s, passOf(s, "automation").Runner(c.options()), passOf(s, "automation.reconcile").Runner(c.options())}
	}
	return c
}

func (c *chaos) process(n int) process { return c.two[n%2] }

func (c *chaos) wrong(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// post is a dispatcher that sees what must never be dispatched.
type post struct {
	*notify.Notifier
	c *chaos
}

func (p post) EnsureNotificationJob(ctx context.Context, tx storage.Tx, jobs ...notify.Job) ([]notify.Ensured, error) {
	got, err := p.Notifier.EnsureNotificationJob(ctx, tx, jobs...)
	for i, e := range got {
		key := jobs[i].SourceKey
		if e.Outcome != storage.Created || p.c.ended[key] || p.c.stopped[key] != "" {
			p.c.wrong("dispatched: %s: %s, ended by an event %v, by support %q", key, e.Outcome, p.c.ended[key], p.c.stopped[key])
		}
	}
	return got, err
}

// met is asked when a row has been found valid and is about to be delivered.
func (c *chaos) met(key string) {
	if !c.host.valid[key] {
		c.wrong("%s was found valid, and nobody wanted it", key)
	}
	then := c.then
	c.then = nil
	for _, d := range then {
		c.do(d)
	}
}

// rows are those of the host.
func (c *chaos) rows() map[string]automation.ScheduleRow {
	out := map[string]automation.ScheduleRow{}
	c.read(func(tx storage.Tx) error {
		rows, err := automation.Schedules.Find(c.ctx, tx, c.host.scope, driver.Query{Limit: 1000})
		for _, r := range rows {
			out[r.Key] = *r
		}
		return err
	})
	return out
}

// delivered counts the messages by key.
func (c *chaos) delivered() map[string]int {
	out := map[string]int{}
	c.read(func(tx storage.Tx) error {
		for _, s := range notify.Schemas() {
			if s.Name != "notification_job" {
				continue
			}
			rows, err := tx.Select(c.ctx, s, driver.Within(c.host.scope), driver.Query{Limit: 1000})
			for _, r := range rows {
				out[textOf(s, r, "source_key")]++
			}
			return err
		}
		return nil
	})
	return out
}

// read looks past the faults.
func (c *chaos) read(f func(storage.Tx) error) {
	if err := c.store.Store.InTx(c.ctx, f); err != nil {
		c.wrong("reading: %v", err)
	}
}

// look checks what holds at every moment: completed rows are never touched.
func (c *chaos) look() {
	rows := c.rows()
	for key, was := range c.done {
		if diff := cmp.Diff(was, rows[key]); diff != "" {
			c.wrong("completed, and changed: %s", diff)
		}
	}
	for key, row := range rows {
		if row.Status == automation.StatusCompleted {
			c.done[key] = row
		}
	}
}

// play lets the story happen, ends all faults, and compares what is left with
// the model.
func (c *chaos) play(story []deed) []string {
	for _, d := range story {
		if c.happen(d); len(c.faults) > 0 {
			return c.faults
		}
	}
	c.host.broken = false
	clear(c.ended)
	if c.paused {
		c.pause(deed{})
	}
	before := c.delivered()
	c.repair()
	c.drain()
	c.look()
	c.compare(before)
	return c.faults
}

// repair lets the background scans come round once, after which all rows are as
// wanted: even a look from the start finds nothing more to do.
func (c *chaos) repair() {
	c.clk.Add(time.Second) // a run that began at this moment may have passed somebody already
	since := c.clk.Now()
	for tries := 0; !c.scannedSince(since); tries++ {
		report, err := c.two[0].scan.Poll(c.ctx, 10)
		if err != nil || tries > 100 {
			c.wrong("the scans do not come round: %v", err)
			return
		}
		if report.Claimed == 0 {
			c.clk.Add(10 * time.Minute)
		}
	}
	for id, p := range c.host.pupils {
		if !p.gone { // the scan sees active ones only; the others are found out when they are due
			c.asWanted(id)
		}
	}
	for setting := range c.host.rules {
		r, err := c.two[1].s.Maintenance().Reconcile(c.ctx, c.host.scope, setting, &automation.ReconcileOptions{FromStart: true, DryRun: true})
		left := slices.DeleteFunc(r.Differences, c.unseen)
		if err != nil || r.Failed > 0 || len(left) > 0 {
			c.wrong("after the scans a look from the start finds %+v: %v", r, err)
		}
	}
}

// scannedSince reports whether each setting was scanned from its first page to
// its last one since then.
func (c *chaos) scannedSince(then time.Time) bool {
	states, err := c.two[0].s.Maintenance().Reconciliations(c.ctx, c.host.scope)
	if err != nil {
		c.wrong("the scans: %v", err)
	}
	for _, state := range states {
		if state.Last == nil || state.Last.StartedOn.Before(then) || state.Last.Failed > 0 {
			return false
		}
	}
	return len(states) == len(c.host.rules)
}

// drain polls until nothing is open; support releases what was tried too often.
func (c *chaos) drain() {
	for range 100 {
		var next time.Time
		for key, row := range c.rows() {
			if row.HoldReason == reasons.RetriesExhausted {
				if err := c.two[0].s.Support().Release(c.ctx, c.host.scope, key, ann); err != nil {
					c.wrong("release: %v", err)
				}
				next = c.clk.Now()
			}
			if !row.DueOn.IsZero() && (next.IsZero() || row.DueOn.Before(next)) {
				next = row.DueOn
			}
		}
		if next.IsZero() {
			return
		}
		if c.clk.Now().Before(next) {
			c.clk.set(next)
		}
		report, err := c.two[0].due.Poll(c.ctx, 100)
		if err != nil {
			c.wrong("a poll without faults: %v", err)
		}
		if report.Claimed == 0 { // somebody has it, or had
			c.clk.Add(time.Minute)
		}
	}
	c.wrong("it does not come to rest: %+v", c.rows())
}

// compare says what became of each key, and what the model says.
func (c *chaos) compare(before map[string]int) {
	rows, got, wishes := c.rows(), c.delivered(), c.host.wishes()
	all := maps.Clone(wishes)
	for key := range rows {
		all[key] = time.Time{}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		_, wished := wishes[key]
		want := 0
		if before[key] > 0 || wished && c.stopped[key] == "" {
			want = 1
		}
		row := rows[key]
		switch {
		case got[key] != want:
			c.wrong("%s: %d deliveries, want %d: %+v", key, got[key], want, row)
		case want == 1 && row.Status != automation.StatusCompleted, want == 0 && row.Status == automation.StatusCompleted:
			c.wrong("%s: %d deliveries, and it is %s", key, want, row.Status)
		case c.stopped[key] != "" && row.HoldReason != c.stopped[key]:
			c.wrong("%s was stopped by support, %s: %+v", key, c.stopped[key], row)
		case want == 0 && row.HoldReason == "" && (row.Status != automation.StatusDeactivated || row.ReasonCode == ""):
			c.wrong("%s is not delivered, and nothing says why: %+v", key, row)
		}
	}
}
