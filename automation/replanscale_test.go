package automation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// A million rows on PostgreSQL, every one of another offset, killed twenty times in the
// middle, and exact: each page under 50 ms (the ninth decile), and a claim beside it at
// most twice as slow as without it. At level all, and on SQLite, it is twenty thousand; at
// level all nothing is timed.
func TestAReplanOfManyRows(t *testing.T) {
	testlevel.Need(t, testlevel.All)
	full := testlevel.Has(t, testlevel.Full)
	for name, on := range map[string]struct {
		open func(testing.TB, clock.Clock) storage.Store
		most int
	}{"postgres": {storetest.Postgres, 1_000_000}, "sqlite": {storetest.SQLite, 20_000}} {
		t.Run(name, func(t *testing.T) {
			clk := clock.NewMock()
			clk.Set(start)
			n := 20_000
			if full {
				n = on.most
			}
			w := newWorld(t, on.open(t, clk), clk, nil)
			w.replanMany(n, full)
		})
	}
}

// replanMany plans so many rows again, and bounds the times if it is strict.
func (w *world) replanMany(n int, strict bool) {
	t, watch := w.t, clock.New()
	k := w.withKnowing(nil)
	w.ensureMany(n, 30, "certificate")
	w.ensureMany(20_000, 60, "another") // what is claimed beside it
	k.offsets = []int{14}
	for i := range n {
		k.people[fmt.Sprintf("%08d", i)] = person{expires: date(2026, 5, 1)}
	}
	if err := w.s.Upkeep().Replan(w.ctx, certificatesAgain); err != nil {
		t.Fatal(err)
	}
	alone := (<-w.claims(watch, 200, nil)).p99
	var pages []time.Duration
	runner, kills := w.scanner(), 0
	done := make(chan struct{})
	claims := w.claims(watch, 1<<30, done)
	for !w.replanState().Done {
		if len(pages) > (kills+1)*n/100/21 && kills < 20 {
			kills++
			w.killReplan()
		}
		began := watch.Now()
		report, err := runner.Poll(w.ctx, 100)
		if err != nil {
			t.Fatal(err)
		}
		if report.Claimed > 0 {
			pages = append(pages, watch.Since(began))
		}
		w.clk.Add(time.Minute)
	}
	close(done)
	claimed := <-claims
	beside := claimed.p99
	if claimed.err != nil {
		t.Error(claimed.err)
	}
	w.mustBeReplanned(n)
	slices.Sort(pages)
	t.Logf("%d pages, median %v, ninth decile %v, longest %v; killed %d times; claims p99 %v alone, %v beside",
		len(pages), pages[len(pages)/2], pages[len(pages)*9/10], pages[len(pages)-1], kills, alone, beside)
	if strict && (pages[len(pages)*9/10] > 50*time.Millisecond || beside > 2*alone) {
		t.Error("too slow")
	}
}

// ensureMany makes rows of that many days before the first of May.
func (w *world) ensureMany(n, days int, kind string) {
	w.t.Helper()
	for from := 0; from < n; from += 1000 {
		var all []automation.Candidate
		for i := from; i < min(from+1000, n); i++ {
			all = append(all, automation.Candidate{
				Type: kind, Source: automation.Source{"employee", fmt.Sprintf("%08d", i)}, SendAt: "09:00", Zone: "UTC",
				TargetDate: date(2026, 5, 1), DaysBefore: days,
			})
		}
		w.ensure(all...)
	}
}

// timing is how long claims took.
type timing struct {
	p99 time.Duration
	err error
}

// claims times claims of ten rows, so many or until done.
func (w *world) claims(watch clock.Clock, n int, done <-chan struct{}) <-chan timing {
	out := make(chan timing, 1)
	go func() {
		var took []time.Duration
		var err error
		for i := 0; i < n && err == nil; i++ {
			select {
			case <-done:
				n = i
			default:
			}
			began := watch.Now()
			err = w.store.InTx(w.ctx, func(tx storage.Tx) error {
				_, err := automation.Schedules.Claim(w.ctx, tx, driver.Claim{
					Statuses: []string{automation.StatusPending}, Busy: automation.StatusProcessing, Kinds: []string{"another"}, Token: fmt.Sprint(n, i),
					Lanes: []driver.LaneClaim{{Limit: 10}}, Now: day(2026, 3, 3, 0), LeaseUntil: day(2027, 1, 1, 0),
				})
				return err
			})
			took = append(took, watch.Since(began))
		}
		slices.Sort(took)
		out <- timing{took[len(took)*99/100], err}
	}()
	return out
}

// killReplan has a process die after it has written a page, before it writes the cursor.
func (w *world) killReplan() {
	w.t.Helper()
	before := w.replanRow()
	w.scan()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		row := w.replanRowIn(tx)
		row.Cursor, row.Run, row.Status = before.Cursor, before.Run, before.Status
		row.LeaseExpiresOn, row.ClaimToken, row.DueOn = w.clk.Now().Add(time.Minute), "a dead process", before.DueOn
		return automation.Reconciliations.Save(w.ctx, tx, row)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) replanRow() (row automation.ReconciliationRow) {
	w.t.Helper()
	err := w.store.View(w.ctx, func(from driver.Reader) error {
		row = *w.replanRowIn(from)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

func (w *world) replanRowIn(from driver.Reader) *automation.ReconciliationRow {
	w.t.Helper()
	rows, err := automation.Reconciliations.Find(w.ctx, from, "", driver.Query{Limit: 10})
	if err != nil || len(rows) != 1 {
		w.t.Fatal(len(rows), err)
	}
	return rows[0]
}

// mustBeReplanned counts the rows of the old and the new offset.
func (w *world) mustBeReplanned(n int) {
	w.t.Helper()
	err := w.store.View(w.ctx, func(from driver.Reader) error {
		for days, want := range map[int64]string{30: automation.StatusDeactivated, 14: automation.StatusPending} {
			where := []driver.Cond{driver.Eq("kind", "certificate"), driver.Eq("days_before", days)}
			all, err := automation.Schedules.Count(w.ctx, from, "", 2*n, where...)
			if err != nil {
				return err
			}
			right, err := automation.Schedules.Count(w.ctx, from, "", 2*n, append(where, driver.Eq("status", want))...)
			if err != nil || all != n || right != n {
				w.t.Errorf("%d days before: %d rows, %d of them %s, want %d; %v", days, all, right, want, n, err)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
