package automation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// replan marks, and works everything off.
func (w *world) replan(what ...automation.Replan) {
	w.t.Helper()
	if err := w.s.Maintenance().Replan(w.ctx, what...); err != nil {
		w.t.Fatal(err)
	}
	w.drain(passOf(w.s, "automation.reconcile"))
}

// replanState is that of the re-plan of certificates.
func (w *world) replanState() automation.ReplanState {
	w.t.Helper()
	states, err := w.s.Maintenance().Replans(w.ctx, "")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, state := range states {
		if state.Type == "certificate" && state.Setting == "" {
			return state
		}
	}
	w.t.Fatalf("%+v", states)
	return automation.ReplanState{}
}

var certificatesAgain = automation.Replan{Type: "certificate"}

// A page is so many rows, the next one goes on behind it, and all of it is there to
// be read.
func TestAReplanGoesOnPageByPage(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 112)
		for id := range k.people {
			w.hear(k.staff, id)
		}
		k.offsets = []int{30, 14}
		if err := w.s.Maintenance().Replan(w.ctx, certificatesAgain); err != nil {
			w.t.Fatal(err)
		}
		for page, want := range []int{25, 50, 75, 100, 112, 112} { // the last looks for sources without an open row
			if got := w.scan(); got.Claimed != 1 {
				w.t.Fatalf("page %d: %+v", page, got)
			}
			state := w.replanState()
			if state.Progress.Created != want || state.Done != (page == 5) {
				w.t.Errorf("page %d: %+v %+v", page, state, state.Progress)
			}
		}
		if got := len(w.rows()); got != 224 || len(k.calls) != 5 || k.inTx != 0 {
			w.t.Errorf("%d rows, asked %d times, %d inside a transaction", got, len(k.calls), k.inTx)
		}
		if got := w.scan(); got.Claimed != 0 {
			w.t.Errorf("%+v", got)
		}
	})
}

// A process dies after its page was written and before its cursor was: another one
// goes on, and the outcome is the same.
func TestAReplanGoesOnAfterACrash(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 250)
		for id := range k.people {
			w.hear(k.staff, id)
		}
		k.offsets = []int{14}
		if err := w.s.Maintenance().Replan(w.ctx, certificatesAgain); err != nil {
			w.t.Fatal(err)
		}
		w.scan()
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error { // as it was before the page
			rows, err := automation.Reconciliations.Find(w.ctx, tx, "", driver.Query{Where: []driver.Cond{driver.NotNull("marked_on")}, Limit: 10})
			if err != nil || len(rows) != 1 {
				return fmt.Errorf("%d rows: %w", len(rows), err)
			}
			rows[0].Cursor, rows[0].Run, rows[0].LeaseExpiresOn, rows[0].ClaimToken = "", nil, w.clk.Now().Add(time.Minute), "a dead process"
			return automation.Reconciliations.Save(w.ctx, tx, rows...)
		})
		if err != nil {
			w.t.Fatal(err)
		}
		for range 3 {
			w.clk.Add(10 * time.Minute)
			w.drain(passOf(w.s, "automation.reconcile"))
		}
		open, ended := 0, 0
		for _, row := range w.rows() {
			switch {
			case row.Status == automation.StatusPending && row.DaysBefore == 14:
				open++
			case row.Status == automation.StatusDeactivated && row.DaysBefore == 30:
				ended++
			}
		}
		if open != 250 || ended != 250 || !w.replanState().Done {
			w.t.Errorf("%d open, %d ended, %+v", open, ended, w.replanState())
		}
	})
}

// What is marked while it is worked off begins again, also under the worker's hands.
func TestAMarkUnderAWorkerBeginsAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 2)
		w.hear(k.staff, "000")
		w.hear(k.staff, "001")
		marked := false
		k.asked = func(automation.Request) error {
			if marked {
				return nil
			}
			marked = true
			k.offsets = []int{14}
			return w.s.Maintenance().Replan(w.ctx, certificatesAgain)
		}
		w.clk.Add(time.Second)
		w.replan(certificatesAgain)
		for _, id := range []string{"000", "001"} {
			if got := w.statuses()[keyOf(id, "2026-05-01", 30)]; got != "Deactivated Superseded" {
				w.t.Error(id, got)
			}
		}
		if state := w.replanState(); !state.Done || state.Failures != 0 {
			w.t.Errorf("%+v", state)
		}
	})
}

// One source that cannot be planned is named and skipped; a page that fails as a
// whole is tried again, and after the back-off it is skipped as well.
func TestAReplanIsolatesASourceThatFails(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 3)
		for id := range k.people {
			w.hear(k.staff, id)
		}
		k.offsets = []int{14}
		k.fails = func(s automation.Source) error {
			if s.ID == "001" {
				return errBoom
			}
			return nil
		}
		w.replan(certificatesAgain)
		state := w.replanState()
		if diff := cmp.Diff(map[string]int{"scanned": 3, "failed": 1, "created": 2, "deactivated": 2, "pages": 1}, counts(*state.Progress)); diff != "" || !state.Done {
			w.t.Error(diff, state)
		}
		if state.ReasonCode != reasons.HandlerFailed || state.Diagnostics != "boom" {
			w.t.Errorf("%+v", state)
		}
		k.fails = func(automation.Source) error { return errBoom }
		w.replan(certificatesAgain)
		if state = w.replanState(); state.Done || state.Failures != 1 {
			w.t.Fatalf("%+v", state)
		}
		for tries := 1; !w.replanState().Done; tries++ {
			if state = w.replanState(); state.Failures != tries || tries > 4 {
				w.t.Fatalf("%d tries: %+v", tries, state)
			}
			w.clk.Set(state.NextOn)
			w.drain(passOf(w.s, "automation.reconcile"))
		}
		k.fails = nil
		w.replan(certificatesAgain)
		if got := w.statuses()[keyOf("001", "2026-05-01", 14)]; got != "Pending" {
			w.t.Error(got)
		}
	})
}

// A mark without a type reaches every type that has open rows, in whatever process it
// is registered; a type with a Scan finds sources without rows, too.
func TestAMarkWithoutATypeReachesAllOfThem(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 3)
		other := automation.New(w.store, w.out, &w.opts)
		k := &knows{staff: &staff{people: map[string]person{"7": {expires: date(2026, 5, 1), version: 1}}, offsets: []int{30}, sendAt: "09:00"}}
		other.Register(certificates(func(t *automation.ReminderType) { t.Name, t.Triggers = "invoice", k }))
		if _, err := other.HandleEvent(w.ctx, automation.Event{ID: "e", Type: "certificate-changed", Source: automation.Source{"employee", "7"}, Version: 1}); err != nil {
			w.t.Fatal(err)
		}
		k.offsets = []int{14}
		w.replan(automation.Replan{BusinessUnit: ""})
		w.drain(passOf(other, "automation.reconcile"))
		want := map[string]string{
			"reminder:invoice:employee:7:default:2026-05-01:30": "Deactivated Superseded",
			"reminder:invoice:employee:7:default:2026-05-01:14": "Pending",
		}
		for _, id := range []string{"000", "001", "002"} {
			want[keyOf(id, "2026-05-01", 30)], want[keyOf(id, "2026-05-01", 7)] = "Pending", "Pending"
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// The mark is part of the host's transaction.
func TestAMarkVanishesWithItsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.withKnowing(nil)
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			return errors.Join(automation.MarkReplan(w.ctx, tx, certificatesAgain), errBoom)
		})
		if states, _ := w.s.Maintenance().Replans(w.ctx, ""); !errors.Is(err, errBoom) || len(states) != 0 {
			w.t.Errorf("%v %+v", err, states)
		}
	})
}

// A narrowed mark leaves the others alone, and two units that wait are one walk.
func TestAReplanOfAUnitOrSettingIsNarrow(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 2)
		k.unit = "cork"
		w.hear(k.staff, "000")
		k.unit = "dublin"
		w.hear(k.staff, "001")
		k.unit = "" // both move
		w.replan(automation.Replan{Type: "certificate", BusinessUnit: "cork"})
		if a, b := w.row(keyOf("000", "2026-05-01", 30)), w.row(keyOf("001", "2026-05-01", 30)); a.BusinessUnit != "" || b.BusinessUnit != "dublin" {
			w.t.Errorf("%+v\n%+v", a, b)
		}
		w.replan(automation.Replan{Type: "certificate", Setting: "another"})
		if b := w.row(keyOf("001", "2026-05-01", 30)); b.BusinessUnit != "dublin" {
			w.t.Errorf("%+v", b)
		}
		w.replan(automation.Replan{Type: "certificate", BusinessUnit: "dublin"}, automation.Replan{Type: "certificate", BusinessUnit: "cork"})
		if b := w.row(keyOf("001", "2026-05-01", 30)); b.BusinessUnit != "" {
			w.t.Errorf("%+v", b)
		}
	})
}

// A mark that comes while another is half worked off looks at the first half again.
func TestAMarkThatComesAgainBeginsAtTheStart(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 51)
		for id := range k.people {
			w.hear(k.staff, id)
		}
		if err := w.s.Maintenance().Replan(w.ctx, certificatesAgain); err != nil {
			w.t.Fatal(err)
		}
		w.scan()
		k.offsets = []int{14}
		w.replan(certificatesAgain)
		if state := w.replanState(); state.Progress.Created != 51 || state.Progress.Pages != 3 {
			w.t.Errorf("%+v", state.Progress)
		}
	})
}

// A setting that is off ends its rows beyond the window of a Scan, which gives their sources
// no more.
func TestAReplanReachesRowsBeyondTheWindowOfAScan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		off := false
		w := newWorld(t, store, clk, &automation.Options{Settings: switched(func() bool { return !off })})
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Triggers = &triggers{candidates: []automation.Candidate{candidate(nil)}}
			t.Scan = &automation.Scan{SourceType: "employee", Scopes: []automation.Scope{""}, Window: 10, Read: func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
				return automation.ScanPage{Done: true}, nil
			}}
		}))
		w.ensure(candidate(nil))
		w.replan(certificatesAgain)
		if got := w.row(certificateKey); got.Status != automation.StatusPending {
			t.Errorf("before: %s", got.Status)
		}
		off = true
		w.replan(certificatesAgain)
		if got := w.row(certificateKey); got.ReasonCode != reasons.ReminderSettingInactive {
			t.Errorf("%s %s", got.Status, got.ReasonCode)
		}
	})
}

// switched says whether all settings are on.
type switched func() bool

func (s switched) Setting(_ context.Context, _ automation.Scope, id string) (automation.Setting, error) {
	return automation.Setting{ID: id, Active: s()}, nil
}

// A row that waits for its next try goes on waiting when its time of day moves.
func TestARetryThatIsMovedKeepsItsBackOff(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(errBoom) }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		waits := w.row(certificateKey).NextRetryOn
		got := w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "08:30" }))[0]
		if row := w.row(certificateKey); got.Outcome != storage.Updated || !row.NextRetryOn.Equal(waits) || !row.DueOn.Equal(waits) || row.RetryCount != 1 {
			w.t.Errorf("%s: %s, due on %s, %d tries", got.Outcome, row.NextRetryOn, row.DueOn, row.RetryCount)
		}
		w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "18:00" }))
		if row := w.row(certificateKey); !row.DueOn.Equal(day(2026, 4, 1, 18)) {
			w.t.Errorf("due on %s", row.DueOn)
		}
	})
}

// A setting that is switched on again reaches the sources that have no open row, also those
// that never had one, where events have told of them and the provider can be asked.
func TestAReplanReachesSourcesWithoutAnOpenRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(func(t *automation.ReminderType) { t.SourceType = "employee" })
		w.hire(k.staff, 60)
		for id := range k.people {
			w.hear(k.staff, id)
		}
		w.handle(automation.Event{ID: "b", Type: "certificate-changed", Source: automation.Source{"badge", "7"}, Version: 1})
		k.off = true
		w.hire(k.staff, 70)
		for id := range k.people {
			w.hear(k.staff, id)
		}
		w.replan(certificatesAgain)
		for key, status := range w.statuses() {
			if status != "Deactivated ReminderSettingInactive" {
				w.t.Fatal(key, status)
			}
		}
		k.off, k.offsets = false, []int{30, 14}
		w.replan(certificatesAgain)
		pending := 0
		for key, status := range w.statuses() {
			if !strings.HasPrefix(status, "Pending") {
				w.t.Error(key, status)
			}
			pending++
		}
		if state := w.replanState(); pending != 140 || state.Progress.Reactivated != 60 || state.Progress.Created != 80 || state.Progress.Scanned != 70 {
			w.t.Errorf("%d rows: %+v", pending, state.Progress)
		}
		k.calls, k.offsets = nil, []int{30, 14, 7} // each source is asked about once
		w.replan(certificatesAgain)
		asked := 0
		for _, of := range k.calls {
			asked += len(of)
		}
		if state := w.replanState(); asked != 70 || state.Progress.Scanned != 70 || state.Progress.Created != 70 {
			w.t.Errorf("asked about %d: %+v", asked, state.Progress)
		}
	})
}
