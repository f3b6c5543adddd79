package automation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func (w *world) bulk(action automation.Action, sel automation.Selection, dryRun bool) automation.BulkReport {
	w.t.Helper()
	report, err := w.s.Support().Bulk(w.ctx, "", action, sel, ann, &automation.ActionOptions{DryRun: dryRun})
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// numbered are candidates of one source and setting, told apart by trigger keys.
func numbered(n int) (out []automation.Candidate) {
	for i := range n {
		out = append(out, candidate(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprintf("%03d", i) }))
	}
	return out
}

func numberedKey(i int) string {
	return strings.Replace(certificateKey, "default", fmt.Sprintf("%03d", i), 1)
}

// One row is Completed, one is on hold: they are refused, and the others go on. A
// dry run says the same and writes nothing.
func TestOneRowThatIsRefusedDoesNotStopTheRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy, calls := storetest.Counting(store)
		w := newWorld(t, spy, clk, nil)
		w.s.Register(certificates(nil))
		w.ensure(numbered(1)...)
		w.pollAt(day(2026, 4, 1, 9))
		w.ensure(numbered(4)...)
		if err := w.s.Support().Hold(w.ctx, "", numberedKey(2), ann); err != nil {
			t.Fatal(err)
		}
		before := w.rows()
		sel := automation.Selection{Keys: []string{numberedKey(0), numberedKey(1), numberedKey(2), numberedKey(3), "unknown"}}
		calls.Take()
		dry := w.bulk(automation.ActionHold, sel, true)
		if diff := cmp.Diff([]string{"select automation_scheduler"}, calls.Verbs()); diff != "" {
			t.Error("a dry run:", diff)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			t.Error("a dry run wrote:", diff)
		}
		want := automation.BulkReport{Changed: 2, Refused: 2, Rows: []automation.Acted{
			{Key: numberedKey(0), From: "Completed", To: "Completed", Refused: "it is Completed"},
			{Key: numberedKey(1), From: "Pending", To: "Pending"},
			{Key: numberedKey(2), From: "Pending", To: "Pending", Refused: "it is on hold already"},
			{Key: numberedKey(3), From: "Pending", To: "Pending"},
		}}
		if diff := cmp.Diff(want, w.bulk(automation.ActionHold, sel, false)); diff != "" {
			t.Error(diff)
		}
		want.DryRun = true
		if diff := cmp.Diff(want, dry); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before[numberedKey(0)], w.row(numberedKey(0))); diff != "" {
			t.Error("a row that is refused:", diff)
		}
		for i, held := range []automation.Reason{"", reasons.HeldBySupport, reasons.HeldBySupport, reasons.HeldBySupport} {
			if row := w.row(numberedKey(i)); row.HoldReason != held {
				t.Errorf("%+v", row)
			}
		}
		if diff := cmp.Diff([]string{"ann Hold Pending Pending"}, w.audited("automation_scheduler", numberedKey(3))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEachWayToSelectFindsItsRows(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.s.Register(visits())
		w.ensure(numbered(2)...)
		w.ensure(
			candidate(func(c *automation.Candidate) { c.Source.ID = "8" }),
			candidate(func(c *automation.Candidate) { c.TargetDate = date(2026, 6, 1) }),
			candidate(func(c *automation.Candidate) { c.Type = "visit" }),
			candidate(func(c *automation.Candidate) { c.Scope = "north" }),
		)
		if err := w.s.Support().Hold(w.ctx, "", numberedKey(1), ann); err != nil {
			w.t.Fatal(err)
		}
		w.change(key("2026-06-01", "30"), func(r *automation.ScheduleRow) { automation.EndRow(r, start, reasons.Superseded) })
		eight := strings.Replace(certificateKey, ":7:", ":8:", 1)
		for name, c := range map[string]struct {
			sel  automation.Selection
			want []string
		}{
			"setting":            {automation.Selection{Setting: "certificate"}, []string{numberedKey(0), numberedKey(1), eight}},
			"setting and source": {automation.Selection{Setting: "certificate", Source: automation.Source{"employee", "8"}}, []string{eight}},
			"setting and type":   {automation.Selection{Setting: "visit", Type: "certificate"}, nil},
			"hold reason":        {automation.Selection{HoldReason: reasons.HeldBySupport}, []string{numberedKey(1)}},
			"due before":         {automation.Selection{Setting: "certificate", DueBefore: day(2026, 4, 2, 0)}, []string{numberedKey(0), eight}},
			"keys, ended too":    {automation.Selection{Keys: []string{key("2026-06-01", "30")}}, []string{key("2026-06-01", "30")}},
			"keys and reason":    {automation.Selection{Keys: []string{numberedKey(0), numberedKey(1)}, HoldReason: reasons.HeldBySupport}, []string{numberedKey(1)}},
		} {
			var got []string
			for _, row := range w.bulk(automation.ActionCancel, c.sel, true).Rows {
				got = append(got, row.Key)
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				w.t.Error(name, diff)
			}
		}
	})
}

func TestABulkGoesOnPageByPage(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(numbered(5)...)
		sel, sizes := automation.Selection{Setting: "certificate", Limit: 2}, []int{}
		for {
			report := w.bulk(automation.ActionCancel, sel, false)
			sizes = append(sizes, report.Changed)
			if sel.After = report.Next; sel.After == "" {
				break
			}
		}
		if diff := cmp.Diff([]int{2, 2, 1}, sizes); diff != "" {
			w.t.Error(diff)
		}
		for key, status := range w.statuses() {
			if status != "Cancelled CancelledBySupport held CancelledBySupport" {
				w.t.Error(key, status)
			}
		}
		w.ensure(numbered(5)...) // revives none of them
		if report := w.pollAt(day(2026, 4, 1, 9)); report.Claimed != 0 {
			w.t.Errorf("%+v", report)
		}
		if report := w.bulk(automation.ActionRelease, automation.Selection{HoldReason: reasons.CancelledBySupport}, false); report.Changed != 5 {
			w.t.Errorf("%+v", report)
		}
	})
}

func TestABulkOfAnySizeTakesSixStatements(t *testing.T) {
	eachWorld(t, func(w *world) {
		spy, calls := storetest.Counting(w.store)
		w = newWorld(w.t, spy, w.clk, nil)
		w.ensure(numbered(300)...)
		calls.Take()
		if report := w.bulk(automation.ActionHold, automation.Selection{Setting: "certificate"}, false); report.Changed != 300 {
			w.t.Errorf("%d", report.Changed)
		}
		want := []string{"select automation_scheduler", "update automation_scheduler",
			"insert audit_person", "insert audit_person", "insert audit_entry"} // who, the words, the entries
		used := slices.DeleteFunc(calls.Verbs(), func(v string) bool { return v == "get audit_person" }) // as the last Ensure went
		if diff := cmp.Diff(want, used); diff != "" {
			w.t.Error(diff)
		}
	})
}

// Support acts while a worker has the rows: its lease stays, what it decides is
// dropped and counted as stale, and the next one runs them.
func TestABulkUnderAWorkerBreaksNoLease(t *testing.T) {
	for name, actions := range map[string][]automation.Action{
		"held": {automation.ActionHold}, "cancelled": {automation.ActionCancel}, "held and released": {automation.ActionHold, automation.ActionRelease, automation.ActionHold},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				once := true
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
						if once {
							once = false
							leases := w.row(numberedKey(1))
							for _, action := range actions {
								w.bulk(action, automation.Selection{Setting: "certificate"}, false)
							}
							after := w.row(numberedKey(1))
							if after.ClaimToken != leases.ClaimToken || !after.LeaseExpiresOn.Equal(leases.LeaseExpiresOn) || leases.LeaseExpiresOn.IsZero() {
								w.t.Errorf("the lease was touched: %+v", after)
							}
						}
						return []notify.Recipient{sam}, nil
					})
				}))
				w.ensure(numbered(3)...)
				if report := w.pollAt(day(2026, 4, 1, 9)); report.Stale != 3 || len(w.out.dispatched()) != 0 {
					w.t.Errorf("%+v", report)
				}
				if report := w.bulk(automation.ActionRetry, automation.Selection{Setting: "certificate"}, true); report.Changed != 3 {
					w.t.Errorf("%+v", report)
				}
				w.bulk(automation.ActionRelease, automation.Selection{Setting: "certificate"}, false)
				if report := w.poll(); report.Settled != 3 || report.Abandoned != 0 || len(w.out.dispatched()) != 3 {
					w.t.Errorf("%+v", report)
				}
			})
		})
	}
}

// Between the moment at which support reads its rows and the one at which it
// changes them, a worker claims them.
func TestABulkDecidesAgainAboutRowsThatAWorkerClaimsMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		actsOnClaimedRows(t, store, clk, (*world).claimIn)
	})
	t.Run("postgres, beside it", func(t *testing.T) {
		t.Parallel()
		clk := clock.NewMock()
		clk.Set(start)
		actsOnClaimedRows(t, storetest.Postgres(t, clk), clk, func(w *world, _ storage.Tx, lease time.Duration) []*automation.ScheduleRow {
			return w.claim(lease)
		})
	})
}

func actsOnClaimedRows(t *testing.T, store storage.Store, clk *clock.Mock, claim func(*world, storage.Tx, time.Duration) []*automation.ScheduleRow) {
	t.Helper()
	s := &storetest.Spy{Store: store}
	w := newWorld(t, s, clk, nil)
	w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(errBoom) }))
	w.ensure(numbered(2)...)
	w.ensure(candidate(func(c *automation.Candidate) { c.TargetDate = date(2026, 6, 1) }))
	w.pollAt(day(2026, 4, 1, 9))
	clk.Add(time.Hour)
	s.SetHook(overtaken(func(tx storage.Tx) {
		s.SetHook(nil) // once
		claim(w, tx, time.Minute)
	}))
	report := w.bulk(automation.ActionRetry, automation.Selection{Setting: "certificate"}, false)
	want := []automation.Acted{
		{Key: numberedKey(0), From: "Processing", To: "Processing", Refused: "it is Processing"},
		{Key: numberedKey(1), From: "Processing", To: "Processing", Refused: "it is Processing"},
		{Key: key("2026-06-01", "30"), From: "Pending", To: "Pending", Refused: "it waits for its moment, not for a retry"},
	}
	if diff := cmp.Diff(want, report.Rows); diff != "" {
		t.Error(diff)
	}
	if row := w.row(numberedKey(0)); row.Status != automation.StatusProcessing || row.LeaseExpiresOn.IsZero() {
		t.Errorf("%+v", row)
	}
}

func TestASelectionIsBoundedAndOnAnIndex(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(candidate(nil))
		before := w.row(certificateKey)
		bulk := func(action automation.Action, sel automation.Selection, by automation.By) error {
			_, err := w.s.Support().Bulk(w.ctx, "", action, sel, by, nil)
			return err
		}
		setting := automation.Selection{Setting: "certificate"}
		for want, err := range map[string]error{
			"neither Keys nor Setting nor HoldReason": bulk(automation.ActionHold, automation.Selection{Type: "certificate"}, ann),
			"Source needs a Setting":                  bulk(automation.ActionHold, automation.Selection{HoldReason: "x", Source: automation.Source{"a", "b"}}, ann),
			"Source needs Type and ID":                bulk(automation.ActionHold, automation.Selection{Setting: "x", Source: automation.Source{"a", ""}}, ann),
			"the Limit 1001 is not between":           bulk(automation.ActionHold, automation.Selection{Setting: "x", Limit: 1001}, ann),
			"1001 Keys, more than 1000":               bulk(automation.ActionHold, automation.Selection{Keys: make([]string, 1001)}, ann),
			`the After "?" is not the Next`:           bulk(automation.ActionHold, automation.Selection{Setting: "x", After: "?"}, ann),
			`"Rerun" is not Hold`:                     bulk(automation.ActionRerun, setting, ann),
			"no actor is given":                       bulk(automation.ActionHold, setting, automation.By{Reason: "r"}),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				w.t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := w.s.Support().Bulk(w.ctx, "\x00any", automation.ActionHold, setting, ann, nil); err == nil {
			w.t.Error("rows of no tenant")
		}
		if report, err := w.s.Support().Bulk(w.ctx, "other", automation.ActionHold, setting, ann, nil); err != nil || len(report.Rows) != 0 {
			w.t.Errorf("%+v %v", report, err)
		}
		if diff := cmp.Diff(before, w.row(certificateKey)); diff != "" {
			w.t.Error(diff)
		}
	})
}

// Somebody else writes a row whenever support wants to.
func TestARowThatKeepsChangingIsGivenUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		s := &storetest.Spy{Store: store}
		w := newWorld(t, s, clk, nil)
		w.ensure(candidate(nil))
		s.SetHook(overtaken(func(tx storage.Tx) {
			row, err := automation.Schedules.Get(w.ctx, tx, "", certificateKey)
			if err == nil {
				err = automation.Schedules.Save(w.ctx, tx, row)
			}
			if err != nil {
				t.Error(err)
			}
		}))
		if err := w.s.Support().Hold(w.ctx, "", certificateKey, ann); !errors.Is(err, storage.ErrBusy) || !strings.Contains(err.Error(), "Hold of "+certificateKey) {
			t.Error(err)
		}
		report := w.bulk(automation.ActionHold, automation.Selection{Setting: "certificate"}, false)
		if report.Refused != 1 || report.Rows[0].Refused != "it keeps changing" {
			t.Errorf("%+v", report)
		}
		s.SetHook(nil)
		if row := w.row(certificateKey); row.IsOnSupportHold || len(w.audited("automation_scheduler", certificateKey)) != 0 {
			t.Errorf("%+v", row)
		}
	})
}
