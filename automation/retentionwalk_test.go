package automation_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
)

// pollAll runs everything that is due at a moment, in one poll.
func (w *world) pollAll(on time.Time) {
	w.t.Helper()
	w.clk.Set(on)
	if _, err := w.runner().Poll(w.ctx, 5000); err != nil {
		w.t.Fatal(err)
	}
}

// sweeping walks old rows by the rules of s.
func (w *world) sweeping(s *automation.Scheduler) *sweep.Sweep {
	return sweep.New(w.store, sweep.Options{Logger: w.opts.Logger}, s.SweepRules())
}

func (w *world) walk(r *sweep.Sweep) work.Report {
	w.t.Helper()
	report, err := r.Poll(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// walkAll goes on until nothing is due.
func (w *world) walkAll(runners ...*sweep.Sweep) {
	w.t.Helper()
	w.clk.Add(time.Minute)
	for went := true; went; {
		went = false
		for _, r := range runners {
			went = w.walk(r).Settled > 0 || went
		}
	}
}

// The pass goes through all rows once a day, wherever a poller runs; what one
// process has begun another one goes on with. What goes first is announced for a week.
func TestOneProcessAtATimeWalksOnceADay(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(forMonth))
		other := automation.New(w.store, notify.New(w.store, nil), &w.opts)
		one, two := w.sweeping(w.s), w.sweeping(other)
		w.clk.Add(time.Hour)
		w.walk(two)
		if got, err := two.Retained(w.ctx); err != nil || len(got) > 0 {
			w.t.Errorf("a process without a type that forgets walks: %+v, %v", got, err)
		}
		other.Register(certificates(forMonth))
		var many []automation.Candidate
		for i := range automation.RetainPage + 3 {
			many = append(many, of("", "certificate", i))
		}
		w.ensure(many...)
		w.pollAll(day(2026, 4, 1, 9))
		left := func(n int) {
			w.t.Helper()
			if got := len(w.rows()); got != n {
				w.t.Errorf("%d rows are left on %s, want %d", got, w.clk.Now(), n)
			}
		}
		w.clk.Set(day(2026, 6, 1, 9))
		w.walkAll(one, two)
		left(len(many))
		w.clk.Set(day(2026, 6, 8, 8))
		w.walkAll(one, two)
		left(len(many))
		w.clk.Set(day(2026, 6, 8, 10))
		w.walk(one)
		left(3)
		w.walkAll(one, two)
		left(0)
		w.ensure(candidate(func(c *automation.Candidate) { c.TargetDate = date(2026, 7, 10) })) // due the 10th of June
		w.pollAt(day(2026, 6, 10, 9))
		w.clk.Set(day(2026, 7, 12, 9))
		w.walkAll(two)
		left(0)
	})
}

// What could not be archived is tried again the next day, and a page that could not be
// read after a while.
func TestAWalkThatFailsIsTakenUpLater(t *testing.T) {
	eachWorld(t, func(w *world) {
		calls := 0
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Retention = automation.Retention{After: 30 * days, Archive: func(context.Context, []automation.Schedule) error {
				calls++
				return errBoom
			}}
		}))
		r := w.sweeping(w.s)
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		w.clk.Set(day(2026, 6, 1, 9))
		w.walkAll(r)
		if calls != 0 {
			w.t.Error("it is archived before it is announced")
		}
		w.clk.Add(8 * days)
		w.walkAll(r)
		w.walkAll(r)
		w.row(certificateKey)
		if calls != 1 {
			w.t.Errorf("it goes on and on: %d calls", calls)
		}
		w.clk.Add(days)
		w.walkAll(r)
		if calls != 2 {
			w.t.Errorf("it is given up: %d calls", calls)
		}
	})
}
