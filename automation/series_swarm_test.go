package automation_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

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

// The source asks no more while a worker moves the series on: whoever comes
// first, nothing is left to run.
func TestI18_ASeriesEndsWhileItMovesOn(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withSeries(daily(nil))
		for n := range 10 {
			w.clk.Set(day(2026, 3, 1+n, 9))
			p.set()
			var wg sync.WaitGroup
			wg.Go(func() { w.poll() })
			wg.Go(func() {
				w.bear(func() error { _, err := w.s.HandleEvent(w.ctx, changed(int64(2*n+2))); return err })
			})
			wg.Wait()
			for key, row := range w.rows() {
				if row.IsOpen() && !row.IsOnSupportHold {
					w.t.Error("still to run: ", key)
				}
			}
			p.set(daily(nil))
			w.handle(changed(int64(2*n + 3)))
			w.oneRunningRowEach(1)
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
