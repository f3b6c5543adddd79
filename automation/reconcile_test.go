package automation_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
)

// drifted is a host in which every kind of difference has come up unseen.
func (w *world) drifted() *staff {
	w.t.Helper()
	s := w.withStaff(nil)
	w.hire(s, 6)
	for id := range s.people {
		if id != "001" { // whose event is lost
			w.hear(s, id)
		}
	}
	w.pollAt(day(2026, 4, 1, 9)) // the first reminders go out
	w.clk.Set(day(2026, 4, 2, 10))
	s.set("002", person{expires: date(2026, 6, 1), version: 2, changed: w.clk.Now()}) // renewed
	w.change(keyOf("003", "2026-05-01", 7), func(r *automation.ScheduleRow) { automation.EndRow(r, w.clk.Now(), automation.Invalidated) })
	w.change(keyOf("004", "2026-05-01", 7), func(r *automation.ScheduleRow) { r.SendAt, r.ScheduledOn = "10:00", r.ScheduledOn.Add(-1) })
	w.replace("005")
	return s
}

// replace gives the later row of a person another input.
func (w *world) replace(id string) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		row, err := automation.Schedules.Get(w.ctx, tx, "", keyOf(id, "2026-05-01", 7))
		if err != nil {
			return err
		}
		if err := automation.Schedules.Delete(w.ctx, tx, row); err != nil {
			return err
		}
		row.InputHash = "another"
		_, err = automation.Schedules.Insert(w.ctx, tx, row)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

//spec:a-099
func TestReconciliationRepairsWhatNoEventTold(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.drifted()
		got := w.reconcile(automation.ReconcileOptions{FromStart: true})
		want := map[string]int{
			"scanned": 6, "unchanged": 1, "pages": 3,
			"created": 3, "deactivated": 1, "reactivated": 1, "updated": 1, "conflicts": 1, "passed": 1,
		}
		if diff := cmp.Diff(want, counts(got)); diff != "" {
			w.t.Error(diff)
		}
		wantRows := map[string]string{
			keyOf("001", "2026-05-01", 7):  "Pending", // its other offset has passed
			keyOf("002", "2026-06-01", 30): "Pending", keyOf("002", "2026-06-01", 7): "Pending",
			keyOf("002", "2026-05-01", 30): "Completed", keyOf("002", "2026-05-01", 7): "Deactivated Superseded",
			keyOf("003", "2026-05-01", 30): "Completed", keyOf("003", "2026-05-01", 7): "Pending Invalidated",
			keyOf("004", "2026-05-01", 30): "Completed", keyOf("004", "2026-05-01", 7): "Pending",
			keyOf("005", "2026-05-01", 30): "Completed", keyOf("005", "2026-05-01", 7): "Pending held InputConflict",
			keyOf("000", "2026-05-01", 30): "Completed", keyOf("000", "2026-05-01", 7): "Pending",
		}
		if diff := cmp.Diff(wantRows, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if row := w.row(keyOf("004", "2026-05-01", 7)); row.SendAt != "09:00" || row.EventType != automation.EventReconcile {
			w.t.Errorf("%+v", row)
		}
		before := w.everything()
		again := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if diff := cmp.Diff(map[string]int{"scanned": 6, "unchanged": 6, "pages": 3, "conflicts": 1, "passed": 1}, counts(again)); diff != "" {
			w.t.Error(diff)
		}
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			w.t.Error("all was as wanted, and yet:", diff)
		}
	})
}

//spec:a-110
func TestADryRunTellsWhatARunWouldDoAndWritesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.drifted()
		before := w.everything()
		dry := w.reconcile(automation.ReconcileOptions{FromStart: true, DryRun: true})
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			w.t.Error("a dry run wrote:", diff)
		}
		var kinds []string
		for _, d := range dry.Differences {
			kinds = append(kinds, strings.TrimSpace(string(d.Kind)+" "+d.Source.ID+" "+d.Detail))
		}
		slices.Sort(kinds)
		want := []string{
			"WouldConflict 005", "WouldCreate 001", "WouldCreate 002", "WouldCreate 002",
			"WouldDeactivate 002 Superseded", "WouldReactivate 003", "WouldUpdate 004",
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			w.t.Error(diff)
		}
		real := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if diff := cmp.Diff(counts(dry), counts(real)); diff != "" {
			w.t.Error("the run did something else:", diff)
		}
	})
}

// A dry run and a run agree about a source that has shown a newer version.
func TestAnOlderPageIsNotApplied(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 1)
		s.set("000", person{expires: date(2026, 6, 1), version: 5, changed: w.clk.Now()})
		w.hear(s, "000")
		s.set("000", person{expires: date(2026, 5, 1), version: 4, changed: w.clk.Now()}) // a replica behind
		before := w.everything()
		for _, dry := range []bool{true, false} {
			got := w.reconcile(automation.ReconcileOptions{FromStart: true, DryRun: dry})
			if diff := cmp.Diff(map[string]int{"scanned": 1, "stale": 1, "pages": 1}, counts(got)); diff != "" {
				w.t.Error(dry, diff)
			}
		}
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// A repaired source has shown its version: an event that is older comes too late.
func TestAnEventOlderThanARepairIsNotApplied(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		s.set("000", person{expires: date(2026, 6, 1), version: 5, changed: w.clk.Now()})
		w.reconcile(automation.ReconcileOptions{})
		got := w.handle(automation.Event{Type: "certificate-changed", Source: automation.Source{"employee", "000"}, Version: 4})
		if got.Outcome != automation.EventStale || got.SourceVersion != 5 {
			w.t.Errorf("%+v", got)
		}
	})
}

// Between the page and the repair a source without versions changes: what is
// applied is what it says behind its row's lock.
func TestASourceWithoutVersionsIsAskedAgainInsideTheTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		s.set("000", person{expires: date(2026, 5, 1), changed: w.clk.Now()})
		var asked []bool
		s.asked = func(e automation.Event) error {
			asked = append(asked, e.Data != nil)
			s.people["000"] = person{expires: date(2026, 6, 1), changed: s.people["000"].changed}
			return nil
		}
		w.reconcile(automation.ReconcileOptions{})
		if diff := cmp.Diff([]bool{true, false}, asked); diff != "" {
			w.t.Error(diff)
		}
		want := map[string]string{keyOf("000", "2026-06-01", 30): "Pending", keyOf("000", "2026-06-01", 7): "Pending"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// Changed settings reach the sources that exist by a run from the start.
func TestASettingsChangeReachesExistingSources(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 3)
		for id := range s.people {
			w.hear(s, id)
		}
		w.clk.Add(time.Hour)
		w.scanAll()
		s.offsets, s.sendAt = []int{20, 7}, "17:00"
		if got := w.reconcile(automation.ReconcileOptions{}); got.Scanned != 0 {
			w.t.Errorf("no source has changed since: %+v", counts(got))
		}
		got := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if diff := cmp.Diff(map[string]int{"scanned": 3, "created": 3, "deactivated": 3, "updated": 3, "pages": 2}, counts(got)); diff != "" {
			w.t.Error(diff)
		}
		for id := range s.people {
			if row := w.row(keyOf(id, "2026-05-01", 20)); row.Status != automation.StatusPending || row.SendAt != "17:00" {
				w.t.Errorf("%+v", row)
			}
		}
	})
}

// Where all is as wanted, a whole run writes nothing to the log of the database.
//
//spec:a-109
func TestReconcilingWhatIsRightWritesNoWAL(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	clk := clock.NewMock()
	clk.Set(start)
	// A server that writes no WAL of its own accord.
	server := pgtest.New(t, &pgtest.Options{Settings: map[string]string{
		"autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "1h",
	}})
	store, err := postgres.Open(t.Context(), server.Database(t), &postgres.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := newWorld(t, store, clk, nil)
	s := w.withStaff(func(c *automation.Scan) { c.Batch = 50 })
	w.hire(s, 500)
	run := func() (written int64, r automation.ReconcileReport) {
		t.Helper()
		position := func() (at int64) {
			t.Helper()
			row := store.DB().QueryRowContext(t.Context(), "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
			if err := row.Scan(&at); err != nil {
				t.Fatal(err)
			}
			return at
		}
		before := position()
		r = w.reconcile(automation.ReconcileOptions{FromStart: true})
		return position() - before, r
	}
	if written, r := run(); written < 100_000 || r.Created != 1000 {
		t.Errorf("creating wrote %d bytes; this test proves nothing: %+v", written, counts(r))
	}
	w.pollAt(day(2026, 4, 1, 9)) // some of the rows are completed
	// Reading sets hint bits on pages, which is written down.
	if _, err := store.DB().ExecContext(t.Context(), "VACUUM"); err != nil {
		t.Fatal(err)
	}
	if written, r := run(); written != 0 || r.Unchanged != 500 {
		t.Errorf("%d bytes were written: %+v", written, counts(r))
	}
}

// heapGrowth is how much more memory is in use at a later page than at the first
// one, in a run over n sources.
func heapGrowth(t *testing.T, n int) int64 {
	w := memoryWorld(t)
	var first, most uint64
	s := &staff{}
	w.serve(s, func(scan *automation.Scan) {
		scan.Batch = 100
		scan.Read = manyPeople(n, func(int) person { return person{version: 1} }, func() {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			if first == 0 {
				first = m.HeapAlloc
			}
			most = max(most, m.HeapAlloc)
		})
	})
	if r := w.reconcile(automation.ReconcileOptions{}); r.Unchanged != n {
		t.Errorf("%+v", r)
	}
	return int64(most) - int64(first)
}

// A run holds one page at a time. Not parallel: it measures the whole process.
//
//spec:a-108
func TestI21_TheMemoryOfARunDoesNotGrowWithItsSources(t *testing.T) {
	for _, n := range []int{1_000, 20_000} {
		if more := heapGrowth(t, n); more > 1<<20 {
			t.Errorf("%d sources: %d bytes more than at the first page", n, more)
		}
	}
}

// The story of a scan in three pages, with a fault in any one transaction: at
// every moment what the cursor and the watermark passed is repaired, and the end
// is the same.
//
//spec:a-106
func TestI21_AFaultInAnyOneTransactionLeavesNothingBehindTheCursor(t *testing.T) {
	t.Parallel()
	want := scanStory(t, &storetest.Spy{})
	for at := 1; ; at++ {
		reached := false
		for _, lost := range []bool{false, true} {
			faulty := &storetest.Spy{Hook: storetest.Lose(at, lost)}
			if diff := cmp.Diff(want, scanStory(t, faulty)); diff != "" {
				t.Errorf("fault %d, answer lost %v: %s", at, lost, diff)
			}
			reached = faulty.Begun() >= at
		}
		if !reached {
			return
		}
	}
}

func scanStory(t *testing.T, store *storetest.Spy) map[string]string {
	clk := clock.NewMock()
	clk.Set(start)
	store.Store = memory.New(&memory.Options{Clock: clk})
	w := newWorld(t, store, clk, nil)
	s := w.withStaff(nil)
	w.hire(s, 5)
	inspect := *w
	inspect.store = store.Store
	inspect.s = automation.New(store.Store, w.out, &w.opts)
	for polls := 0; ; polls++ {
		_, _ = w.scanner().Poll(w.ctx, 100) // the next one goes on
		inspect.committedBehindTheCursor()
		states, err := inspect.s.Upkeep().Reconciliations(w.ctx, "")
		if err != nil || polls == 30 || t.Failed() {
			t.Fatal("it does not come to an end", states, err)
		}
		if len(states) == 1 && states[0].Last != nil {
			break
		}
		clk.Add(2 * time.Minute) // leases end
		if len(states) == 1 && states[0].NextOn.After(clk.Now()) {
			clk.Set(states[0].NextOn)
		}
	}
	out := inspect.statuses()
	out["watermark"] = fmt.Sprint(!inspect.state().Watermark.IsZero())
	return out
}

// committedBehindTheCursor checks that whoever the cursor has passed has rows.
func (w *world) committedBehindTheCursor() {
	w.t.Helper()
	rows := w.rows()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		found, err := automation.Reconciliations.Find(w.ctx, tx, "", driver.Query{Limit: 1})
		for _, r := range found {
			for i := range 5 {
				id := fmt.Sprintf("%03d", i)
				if _, ok := rows[keyOf(id, "2026-05-01", 7)]; !ok && (id <= r.Cursor || !r.Watermark.IsZero()) {
					w.t.Errorf("%s is behind cursor %q, watermark %v, and has no row", id, r.Cursor, r.Watermark)
				}
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
