package automation_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// What the old scheduler has of a series whose part is past it is passed over: no move
// will come that could wake the series.
func TestASeriesGoesOnBehindWhatTheOldSchedulerHas(t *testing.T) {
	nine := func(d int) time.Time { return day(2026, 3, d, 9) }
	t.Run("it asked before there was a row", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.to(certificatesPart, cutover.StageScheduled)
			w.ensure(daily(nil))
			for d := 2; d <= 3; d++ {
				if !w.old(on(nine(d)), "") {
					w.t.Errorf("the old scheduler was refused a run that nobody knew: %d", d)
				}
			}
			w.pollAt(day(2026, 3, 3, 12))
			w.wantShort("03-01T09:00 Completed", "03-02T09:00 Deactivated Shadow", "03-03T09:00 Deactivated Shadow", "03-04T09:00 Pending")
			w.owned(on(nine(4)), cutover.AutomationScheduler, cutover.Owned)
		})
	})
	t.Run("it ran before its moment, then the part moved", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.ensure(daily(nil))
			if !w.old(on(nine(1)), "") {
				w.t.Error("refused")
			}
			w.to(certificatesPart, cutover.StageScheduled)
			w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
		})
	})
	t.Run("it ran before its moment, then the host asked for the series", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.to(certificatesPart, cutover.StageScheduled)
			if !w.old(on(nine(1)), "") {
				w.t.Error("refused")
			}
			w.ensure(daily(nil))
			w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
		})
	})
	t.Run("support gave a run back", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.to(certificatesPart, cutover.StageScheduled)
			w.ensure(daily(nil))
			w.must(w.s.Rollout().TransferOwnership(w.ctx, "", on(nine(1)), cutover.OldScheduler, ann))
			w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
			w.owned(on(nine(1)), cutover.OldScheduler, cutover.Owned)
		})
	})
}

// A row that is made in shadow while its part moves on is woken by nobody.
func TestASeriesThatSleepsBehindItsPartIsLost(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.ensure(daily(nil))
		w.setStage(certificatesPart, cutover.StageScheduled)
		w.clk.Set(day(2026, 3, 1, 12))
		if health, err := w.s.Health(w.ctx, storage.Everywhere()); err != nil || len(health.Lost) != 1 || health.Lost[0].Key != on(day(2026, 3, 1, 9)) {
			w.t.Errorf("%+v %v", health, err)
		}
		w.ensure(daily(nil))
		w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
		if health, err := w.s.Health(w.ctx, storage.Everywhere()); err != nil || len(health.Lost) != 0 {
			w.t.Errorf("%+v %v", health, err)
		}
	})
}

// A series runs, changes its cadence, loses an occurrence to support and goes
// on, with a fault in any one transaction: the end is always the same.
func TestAFaultInAnyOneTransactionNeitherEndsNorDoublesASeries(t *testing.T) {
	t.Parallel()
	want := seriesStory(t, &storetest.Spy{})
	for at := 1; ; at++ {
		reached := false
		for _, lost := range []bool{false, true} {
			faulty := &storetest.Spy{Hook: storetest.Lose(at, lost)}
			if diff := cmp.Diff(want, seriesStory(t, faulty)); diff != "" {
				t.Errorf("fault %d, answer lost %v: %s", at, lost, diff)
			}
			reached = faulty.Begun() >= at
		}
		if !reached {
			return
		}
	}
}

func seriesStory(t *testing.T, store *storetest.Spy) []string {
	clk := clock.NewMock()
	clk.Set(start)
	store.Store = memory.New(&memory.Options{Clock: clk})
	w := newWorld(t, store, clk, nil)
	p := w.withTriggers(nil)
	repeat := func(f func() error) {
		if err := f(); err != nil {
			_ = f() // what it was not sure of; a refusal says that it was done
		}
	}
	tell := func(version int64, c automation.Candidate) {
		p.set(c)
		repeat(func() error { _, err := w.s.HandleEvent(w.ctx, changed(version)); return err })
	}
	pollUntil := func(until time.Time) {
		for ; clk.Now().Before(until); clk.Add(20 * time.Minute) {
			_, _ = w.runner().Poll(w.ctx, 100) // the next one goes on
		}
	}
	tell(1, daily(nil))
	pollUntil(day(2026, 3, 2, 12))
	tell(2, cron("0 18 * * *"))
	pollUntil(day(2026, 3, 2, 20))
	repeat(func() error { return w.s.Support().Cancel(w.ctx, "", on(day(2026, 3, 3, 18)), ann) })
	pollUntil(day(2026, 3, 5, 20))
	// the story is over, and so are its faults
	w.store, w.s = store.Store, automation.New(store.Store, w.out, &w.opts)
	jobs := map[string]bool{}
	for _, j := range w.out.jobs {
		jobs[j.PartitionKey+j.RowKey] = true
	}
	return append(w.short(), fmt.Sprint(len(jobs), " jobs, missing ", len(w.lost())))
}

// seriesStatements says how many statements it takes to make n series, to say
// the same again, to change the cadence of all by an event, and to run and move
// them when they are due.
func seriesStatements(t *testing.T, n int) (out [4]int) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = true }))
	var many []automation.Candidate
	for i := range n {
		many = append(many, daily(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(i) }))
	}
	runner := w.runner()
	for i, step := range []func(){
		func() { w.ensure(many...) },
		func() { w.ensure(many...) },
		func() {
			for i := range many {
				many[i].Recurrence = &automation.Recurrence{Cron: "0 10 * * *"}
			}
			w.ensure(many...)
		},
		func() {
			clk.Set(day(2026, 3, 1, 10))
			report, err := runner.Poll(w.ctx, n)
			if err != nil || report.Settled != n {
				t.Fatalf("%+v %v", report, err)
			}
		},
	} {
		calls.Take()
		step()
		out[i] = calls.Count()
	}
	return out
}

// Not parallel, as the test of other rows.
func TestTheNumberOfStatementsDoesNotGrowWithTheSeries(t *testing.T) {
	for _, n := range []int{20, 499} {
		synctest.Test(t, func(t *testing.T) { // so that results that come at once are saved together
			got := seriesStatements(t, n)
			t.Log(n, got)
			for i, most := range [4]int{4, 6, 8, 24} {
				if got[i] > most {
					t.Errorf("%d series: step %d takes %d statements, more than %d", n, i+1, got[i], most)
				}
			}
		})
	}
}

// Everybody at once: two who disagree about the cadence, pollers, and support.
// Whatever they do in whatever order, each series has one row that runs, and it
// is the one that the series names.
func TestI13_ASeriesHasOneRowThatRunsWhateverHappensAtOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		const many = 5
		all := func(expr string) (out []automation.Candidate) {
			for n := range many {
				c := cron(expr)
				c.TriggerKey = fmt.Sprint(n)
				out = append(out, c)
			}
			return out
		}
		w.ensure(all("0 9 * * *")...)
		for range 5 {
			w.clk.Add(13 * time.Hour)
			var wg sync.WaitGroup
			for _, expr := range []string{"0 9 * * *", "0 9,21 * * *"} {
				wg.Go(func() { w.bear(func() error { _, err := w.s.Ensure(w.ctx, all(expr)...); return err }) })
			}
			for range 2 {
				wg.Go(func() {
					for w.poll().Claimed > 0 {
					}
				})
			}
			wg.Go(func() {
				for key, row := range w.rows() {
					if row.Status == automation.StatusPending && row.TriggerKey < "2" {
						w.bear(func() error { return w.s.Support().Cancel(w.ctx, "", key, ann) })
					}
				}
			})
			wg.Wait()
			w.runAll()
			w.oneRunningRowEach(many)
		}
	})
}

// bear takes a refusal, and an error that says to try again.
func (w *world) bear(f func() error) {
	w.t.Helper()
	for range 20 {
		err := f()
		if err == nil || errors.Is(err, automation.ErrActionRefused) {
			return
		}
		if !errors.Is(err, storage.ErrBusy) && !errors.Is(err, storage.ErrRetryTx) {
			w.t.Error(err)
			return
		}
	}
	w.t.Error("busy for ever")
}

func (w *world) oneRunningRowEach(series int) {
	w.t.Helper()
	running := map[string][]time.Time{}
	for _, row := range w.rows() {
		if row.IsOpen() && !row.IsOnSupportHold {
			key := automation.RowSeriesKey(&row)
			running[key] = append(running[key], row.ScheduledOn)
		}
	}
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		stored, err := automation.SeriesTable.Find(w.ctx, tx, "", driver.Query{Limit: 100})
		for _, d := range stored {
			if got := running[d.Key]; !d.Active || len(got) != 1 || !got[0].Equal(d.NextOn) {
				w.t.Errorf("%s is active %v and names %v; running: %v", d.TriggerKey, d.Active, d.NextOn, got)
			}
		}
		if len(stored) != series {
			w.t.Errorf("%d series", len(stored))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
