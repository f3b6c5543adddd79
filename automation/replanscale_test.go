package automation_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/postgres"
)

// At level nightly a million rows on PostgreSQL, every one of another offset, killed twenty
// times in the middle, and exact: each page under 50 ms (all but one in two hundred, since a
// machine has moments of its own), and a claim beside it at most twice as slow as without it.
// Where the test is named, and on SQLite, it is twenty thousand. No transaction writes more
// than a page's rows; only a million are timed.
func TestAReplanOfManyRows(t *testing.T) {
	testlevel.Need(t, testlevel.Nightly)
	full := testlevel.Has(t, testlevel.Nightly)
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
			w := newWorld(t, &storetest.Spy{Store: on.open(t, clk)}, clk, nil)
			w.replanMany(n, full, name == "sqlite")
		})
	}
}

// replanMany plans so many rows again, and bounds the times if it is strict. After each
// kill claims are timed twice: while nothing is planned, and beside pages that follow each
// other as closely as a Poller has them follow, which rests as long as a page took.
func (w *world) replanMany(n int, strict, oneWriter bool) {
	t, watch, spy := w.t, clock.New(), w.store.(*storetest.Spy)
	k := w.withKnowing(nil)
	w.ensureMany(n, 30, "certificate")
	timed := 10 // claims at a time
	if strict {
		timed = 200
	}
	w.ensureMany(20*2*timed*10, 60, "another") // what is claimed beside it
	vacuum(t, spy.Store)
	k.offsets = []int{14}
	k.others = person{expires: date(2026, 5, 1)} // a map of a million would make this process collect garbage beside the pages
	if err := w.s.Maintenance().Replan(w.ctx, certificatesAgain); err != nil {
		t.Fatal(err)
	}
	writes := &writing{watch: watch, began: map[int]time.Time{}, rows: map[int]int{}}
	spy.SetHook(writes.hook)
	var pages, alone, beside []time.Duration
	claimer, runner, kills := &claimer{w: w, watch: watch}, w.scanner(), 0
	done := make(chan struct{})
	close(done)
	for !w.replanState().Done {
		if len(pages) >= kills*n/replanPage/20 && kills < 20 {
			<-done
			kills++
			w.killReplan()
			alone = append(alone, claimer.claim(timed)...)
			done = make(chan struct{})
			go func() {
				defer close(done)
				beside = append(beside, claimer.claim(timed)...)
			}()
		}
		began := watch.Now()
		report, err := runner.Poll(w.ctx, 100)
		if err != nil {
			t.Fatal(err)
		}
		took := watch.Since(began)
		if report.Claimed > 0 {
			pages = append(pages, took)
		}
		select {
		case <-done:
		case <-watch.After(took):
		}
		k.calls = nil
		w.clk.Add(time.Minute)
	}
	<-done
	spy.SetHook(nil)
	w.mustBeReplanned(n)
	slices.Sort(pages)
	const bound = 50 * time.Millisecond
	within, _ := slices.BinarySearch(pages, bound+1)
	t.Logf("%d pages, median %v, ninth decile %v, longest %v, %d over %v; killed %d times; %d claims alone: %v, %v; %d beside: %v, %v (median, p99)",
		len(pages), pages[len(pages)/2], pages[len(pages)*9/10], pages[len(pages)-1], len(pages)-within, bound, kills,
		len(alone), share(alone, 50), share(alone, 99), len(beside), share(beside, 50), share(beside, 99))
	t.Logf("at most %d rows in a transaction that writes, at most %v", writes.most, writes.longest)
	// each source its version, the row that ends and the one that begins, their history, and
	// what that is about, which erasure can delete
	if writes.most == 0 || writes.most > 6*replanPage {
		t.Errorf("%d rows in one transaction", writes.most)
	}
	slow := len(pages)-within > len(pages)/200 || !oneWriter && share(beside, 99) > 2*share(alone, 99)
	if strict && (slow || oneWriter && writes.longest > 250*time.Millisecond) {
		t.Error("too slow")
	}
}

// writing watches transactions that write: how many rows, and for how long.
type writing struct {
	watch clock.Clock
	mu    sync.Mutex
	began map[int]time.Time
	rows  map[int]int

	most    int
	longest time.Duration
}

func (w *writing) hook(c storetest.Call) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch c.Verb {
	case storetest.Begin:
		w.began[c.Number] = w.watch.Now()
	case storetest.Insert, storetest.Update, storetest.Delete:
		w.rows[c.Number] += len(c.Rows)
	case storetest.Committed:
		if n := w.rows[c.Number]; n > 0 {
			w.most, w.longest = max(w.most, n), max(w.longest, w.watch.Since(w.began[c.Number]))
		}
		delete(w.began, c.Number)
		delete(w.rows, c.Number)
	}
	return nil
}

// replanPage is how many rows one page of a re-plan looks at.
const replanPage = 25

// share is the value below which so many hundredths are.
func share(all []time.Duration, hundredths int) time.Duration {
	slices.Sort(all)
	return all[len(all)*hundredths/100]
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

// A claimer takes ten rows at a time, each time behind the last, as a Poller does.
type claimer struct {
	w     *world
	watch clock.Clock
	after driver.Cursor
	n     int
}

// claim says how long each of n claims took, a moment apart.
func (c *claimer) claim(n int) (took []time.Duration) {
	for range n {
		c.n++
		began := c.watch.Now()
		err := c.w.store.InTx(c.w.ctx, func(tx storage.Tx) error {
			rows, err := automation.Schedules.Claim(c.w.ctx, tx, driver.Claim{
				Statuses: []string{automation.StatusPending}, Busy: automation.StatusProcessing, Kinds: []string{"another"}, Token: fmt.Sprint(c.n),
				Lanes: []driver.LaneClaim{{After: c.after, Limit: 10}}, Now: day(2026, 3, 3, 0), LeaseUntil: day(2027, 1, 1, 0),
			})
			if err == nil && len(rows) != 10 {
				err = fmt.Errorf("%d rows claimed", len(rows))
			}
			for _, row := range rows {
				c.after = driver.Cursor{DueOn: row.DueOn, ID: row.ID}
			}
			return err
		})
		took = append(took, c.watch.Since(began))
		if err != nil {
			c.w.t.Error(err)
			return took
		}
		c.watch.Sleep(5 * time.Millisecond)
	}
	return took
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
	rows, err := automation.Reconciliations.Find(w.ctx, from, "", driver.Query{Where: []driver.Cond{driver.NotNull("marked_on")}, Limit: 10})
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

// vacuum does what autovacuum would have done by the time of a run.
func vacuum(t testing.TB, store storage.Store) {
	t.Helper()
	if sql, ok := store.(*postgres.Store); ok {
		if _, err := sql.DB().ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
}
