package report_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Of all runs of a subscription only the next one is a row, under the key of the
// documents, and the one behind it is made when that ends.
func TestI13_OnlyTheNextRunExistsAhead(t *testing.T) {
	eachWorld(t, func(w *world) {
		saved := w.create(weekly(nil))
		if saved.Status != report.StatusActive || saved.Version != 1 || !saved.CreatedOn.Equal(w.clk.Now()) {
			w.Errorf("%+v", saved)
		}
		if diff := cmp.Diff([]string{"scheduled:2026-03-02T09:00:00Z Pending"}, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		got := w.pollAt(at(3, 2, 9, 0))
		if diff := cmp.Diff([]string{"sam@example.com: Sales of 2026-03-02"}, subjects(got)); diff != "" {
			w.Fatal(diff)
		}
		if a := got[0].Attachments; len(a) != 1 || a[0].Name != "sales.csv" || string(a[0].Data) != "day,sum\n2026-03-02,7\n" {
			w.Errorf("%+v", a)
		}
		want := []string{"scheduled:2026-03-09T09:00:00Z Pending", "scheduled:2026-03-02T09:00:00Z Completed"}
		if diff := cmp.Diff(want, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		r := w.built[0]
		if r.LocalTime != "09:00" || r.Zone != "Europe/Dublin" || r.Attempt != 1 || r.Manual != "" || r.Key != "report-subscription:g-1:scheduled:2026-03-02T09:00:00Z" {
			w.Errorf("%+v", r)
		}
		if again := w.pollAt(at(3, 2, 10, 0)); len(again) != 0 {
			w.Errorf("sent again: %v", subjects(again))
		}
	})
}

// What a change of a subscription does to the run that waits: a cadence moves it,
// and everything else is looked at when it is due.
func TestAChangeReachesTheRunThatWaits(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		version := func() int64 {
			return storetest.Record(w, w.store, automation.Schemas()[0], driver.ScopedKey{Key: "report-subscription:g-1:scheduled:2026-03-02T09:00:00Z"}).Version
		}
		before := version()
		sub := w.get("g-1")
		sub.Name, sub.Template = "Turnover", "loud"
		sub.Delivery = report.Delivery{Link: true}
		sub.Recipients = []notify.Recipient{{Ref: "kim", Channel: "email:print", Address: "kim@example.com"}}
		sub.Parameters = json.RawMessage(`{"region": "west"}`)
		sub = w.update(sub)
		if after := version(); after != before {
			w.Errorf("the run was written: version %d, then %d", before, after)
		}
		got := w.pollAt(at(3, 2, 9, 0))
		if diff := cmp.Diff([]string{"kim@example.com: LOUD Turnover"}, subjects(got)); diff != "" {
			w.Fatal(diff)
		}
		if got[0].Text != "https://reports.example/g-1/sales.csv" || len(got[0].Attachments) != 0 {
			w.Errorf("%+v", got[0])
		}
		if p := string(w.built[0].Subscription.Parameters); p != `{"region":"west"}` {
			w.Error(p)
		}
		sub.Cadence = automation.Recurrence{
			RRule: "FREQ=DAILY", Start: automation.Date{Year: 2026, Month: 3, Day: 1}, Except: []automation.Date{{Year: 2026, Month: 3, Day: 3}},
		}
		sub.SendAt = "18:30"
		w.update(sub)
		want := []string{ // that of the 2nd is out: its day has no second one, and the 3rd is left out
			"scheduled:2026-03-09T09:00:00Z Deactivated Superseded", "scheduled:2026-03-04T18:30:00Z Pending",
			"scheduled:2026-03-02T09:00:00Z Completed",
		}
		if diff := cmp.Diff(want, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
	})
}

// Pause, deactivate and delete end what waits and keep what was done.
func TestPendingRunsEndAndCompletedOnesStay(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.pollAt(at(3, 2, 9, 0))
		first := "scheduled:2026-03-02T09:00:00Z Completed"
		w.must(w.reports.Pause(w.ctx, "", "g-1", support))
		if diff := cmp.Diff([]string{"scheduled:2026-03-09T09:00:00Z Deactivated SubscriptionInactive", first}, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		if got := w.pollAt(at(3, 9, 9, 0)); len(got) != 0 {
			w.Errorf("paused, and sent %v", subjects(got))
		}
		if err := w.reports.Pause(w.ctx, "", "g-1", support); !errors.Is(err, report.ErrActionRefused) {
			w.Error(err)
		}
		paused := w.get("g-1")
		paused.Name = "Renamed"
		if got := w.update(paused); got.Status != report.StatusPaused || len(w.runs("g-1")) != 2 {
			w.Errorf("%+v %v", got, w.runs("g-1"))
		}
		w.must(w.reports.Resume(w.ctx, "", "g-1", support))
		if got := w.runs("g-1")[0]; got != "scheduled:2026-03-16T09:00:00Z Pending" {
			w.Errorf("what was missed is not made up for: %s", got)
		}
		w.must(w.reports.Deactivate(w.ctx, "", "g-1", support))
		if got := w.runs("g-1")[0]; got != "scheduled:2026-03-16T09:00:00Z Deactivated SubscriptionInactive" {
			w.Error(got)
		}
		gone := w.get("g-1")
		gone.Name = "Again"
		_, changed := w.reports.Update(w.ctx, gone)
		if err := w.reports.Resume(w.ctx, "", "g-1", support); !errors.Is(err, report.ErrActionRefused) || !errors.Is(changed, report.ErrActionRefused) {
			w.Error(err, changed)
		}
		w.must(w.reports.Delete(w.ctx, "", "g-1", support))
		if _, err := w.reports.Subscription(w.ctx, "", "g-1"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		if got := w.runs("g-1"); len(got) != 3 || got[2] != first {
			w.Errorf("runs of a subscription that was deleted: %v", got)
		}
	})
}

// A subscription that is made again under its old guid repeats no run, and does
// not get the old one's version for its own.
func TestI4_ADeletedSubscriptionThatComesBackRepeatsNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.pollAt(at(3, 2, 9, 0))
		w.must(w.reports.Delete(w.ctx, "", "g-1", support))
		w.clk.Set(at(3, 2, 8, 59)) // a clock that was put back
		w.create(weekly(nil))
		if got := w.pollAt(at(3, 2, 9, 1)); len(got) != 0 {
			w.Errorf("sent again: %v", subjects(got))
		}
		want := []string{
			"scheduled:2026-03-09T09:00:00Z Pending SourceNoLongerValid", // why it last ended
			"scheduled:2026-03-02T09:00:00Z Completed",
		}
		if diff := cmp.Diff(want, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		w.must(w.reports.Pause(w.ctx, "", "g-1", support))
		w.must(w.reports.Delete(w.ctx, "", "g-1", support))
	})
}

func TestASubscriptionIsSavedOrRefusedWithEveryFault(t *testing.T) {
	eachWorld(t, func(w *world) {
		bad := weekly(func(s *report.Subscription) {
			s.BusinessUnit, s.Name, s.Template = "a:b", "\x00", "unknown"
			s.Cadence = automation.Recurrence{RRule: "FREQ=DAILY", End: automation.Date{Year: 2026, Month: 2, Day: 30}}
			s.Recipients = []notify.Recipient{{Ref: "x"}, {Inbox: "room:1"}, {Channel: "a_b"}}
			s.Parameters = json.RawMessage(`{`)
		})
		_, err := w.reports.Create(w.ctx, bad)
		want := []string{
			"Name", "BusinessUnit", "Template", "Recipients[0]", "Recipients[1].Inbox", "Recipients[2].Channel", "Parameters",
			"Cadence.Start", "Cadence.End",
		}
		if diff := cmp.Diff(want, paths(err)); diff != "" {
			w.Error(diff)
		}
		_, err = w.reports.Create(w.ctx, weekly(func(s *report.Subscription) {
			s.Name, s.SendAt, s.Zone, s.Gap, s.Recipients = "\x00", "09:00", "Mars/Olympus", "sideways", nil
		}))
		if diff := cmp.Diff([]string{"Name", "Recipients", "Zone", "SendAt", "Gap, Overlap"}, paths(err), cmpopts.SortSlices(strings.Compare)); diff != "" {
			w.Error(diff)
		}
		for path, change := range map[string]func(*report.Subscription){
			"Cadence":       func(s *report.Subscription) { s.Cadence.Cron = "61 * * * *" },
			"SendAt":        func(s *report.Subscription) { s.SendAt = "09:00" },
			"Zone":          func(s *report.Subscription) { s.Zone = "Mars/Olympus" },
			"Gap, Overlap":  func(s *report.Subscription) { s.Gap = "sideways" },
			"GUID":          func(s *report.Subscription) { s.GUID = "a:b" },
			"Scope":         func(s *report.Subscription) { s.Scope = "\x00any" },
			"Type":          func(s *report.Subscription) { s.Type = "" },
			"Recipients":    func(s *report.Subscription) { s.Recipients = nil },
			"BusinessUnit":  func(s *report.Subscription) { s.BusinessUnit = "\x01" },
			"Cadence.RRule": func(s *report.Subscription) { s.Cadence = automation.Recurrence{RRule: "\xff"} },
		} {
			_, err := w.reports.Create(w.ctx, weekly(change))
			if got := paths(err); got[0] != path {
				w.Errorf("%s: %v", path, got)
			}
			if _, err := w.reports.Preview(w.ctx, weekly(change), 3); path != "Scope" && paths(err)[0] != path {
				w.Errorf("Preview, %s: %v", path, err)
			}
		}
		if all, _, err := w.reports.Subscriptions(w.ctx, "", storage.Page{}); len(all) != 0 || err != nil {
			w.Error(all, err)
		}
	})
}

func TestASubscriptionIsWrittenOnceAndOverNobodysHead(t *testing.T) {
	eachWorld(t, func(w *world) {
		first := w.create(weekly(nil))
		if again := w.create(weekly(nil)); again.Version != 1 {
			w.Errorf("written again: %+v", again)
		}
		other := weekly(func(s *report.Subscription) { s.Name = "Other" })
		if _, err := w.reports.Create(w.ctx, other); !errors.Is(err, storage.ErrStale) {
			w.Error(err)
		}
		mine := first
		mine.Name = "Mine"
		mine = w.update(mine)
		first.Name = "Too late"
		if _, err := w.reports.Update(w.ctx, first); !errors.Is(err, storage.ErrStale) || mine.Version != 2 {
			w.Error(err, mine.Version)
		}
		mine.BusinessUnit = ""
		mine.Zone = "UTC"
		if _, err := w.reports.Update(w.ctx, mine); paths(err)[0] != "BusinessUnit" {
			w.Error(err)
		}
		missing := weekly(func(s *report.Subscription) { s.GUID, s.Version = "none", 3 })
		if _, err := w.reports.Update(w.ctx, missing); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		made := w.create(weekly(func(s *report.Subscription) { s.GUID = "" }))
		if len(made.GUID) != 36 || made.GUID[14] != '7' {
			w.Errorf("guid %q", made.GUID)
		}
	})
}

// I-28: another tenant's subscriptions and runs look absent.
func TestI28_SubscriptionsAndRunsBelongToTheirScope(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(func(s *report.Subscription) { s.Scope = "a" }))
		w.create(weekly(func(s *report.Subscription) { s.Scope, s.Name = "b", "Theirs" }))
		key := "report-subscription:g-1:scheduled:2026-03-02T09:00:00Z"
		if _, err := w.reports.Subscription(w.ctx, "c", "g-1"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		if _, err := w.reports.Run(w.ctx, "c", key); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		w.must(w.reports.Pause(w.ctx, "a", "g-1", support))
		for scope, status := range map[automation.Scope]string{"a": "Deactivated", "b": "Pending"} {
			all, _, err := w.reports.Runs(w.ctx, scope, "g-1", storage.Page{})
			if err != nil || len(all) != 1 || all[0].Status != status {
				w.Error(scope, all, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// In the host's own transaction a subscription and its run are all or nothing.
func TestASubscriptionBelongsToTheHostsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		errNo := errors.New("no")
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			bound := w.reports.WithTx(tx)
			if _, err := bound.Create(w.ctx, weekly(nil)); err != nil {
				return err
			}
			if _, err := bound.RunNow(w.ctx, "", "g-1", "now", support); err != nil {
				return err
			}
			return errNo
		})
		if !errors.Is(err, errNo) || len(w.runs("g-1")) != 0 {
			w.Error(err, w.runs("g-1"))
		}
	})
}

// The zone of a business unit moves runs when somebody says so.
func TestRefreshMovesRunsToANewZone(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.create(weekly(func(s *report.Subscription) { s.GUID = "g-2" }))
		w.must(w.reports.Pause(w.ctx, "", "g-2", support))
		w.unit = "America/New_York"
		next, err := w.reports.Refresh(w.ctx, "", storage.Page{Limit: 1})
		if err != nil || next != "g-1" {
			w.Error(next, err)
		}
		want := []string{"scheduled:2026-03-02T14:00:00Z Pending", "scheduled:2026-03-02T09:00:00Z Deactivated Superseded"}
		if diff := cmp.Diff(want, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		if next, err := w.reports.Refresh(w.ctx, "", storage.Page{After: next}); next != "" || err != nil || len(w.runs("g-2")) != 1 {
			w.Error(next, err, w.runs("g-2"))
		}
	})
}

// A run that was stopped does not return when the subscription moves, and a day has one.
func TestAStoppedRunDoesNotReturnAtAnotherTime(t *testing.T) {
	eachWorld(t, func(w *world) {
		sub := w.create(weekly(func(s *report.Subscription) { s.Cadence.Cron, s.BusinessUnit, s.Zone = "0 9 * * *", "", "UTC" }))
		w.pollAt(at(3, 2, 9, 0))
		w.must(w.work.Support().Cancel(w.ctx, "", "report-subscription:g-1:scheduled:2026-03-03T09:00:00Z", automation.By(support)))
		w.clk.Set(at(3, 2, 9, 30))
		sub.Cadence.Cron = "0 10 * * *"
		w.update(sub)
		if got := subjects(w.pollAt(at(3, 3, 12, 0))); len(got) != 0 {
			w.Error(got)
		}
		if got := subjects(w.pollAt(at(3, 4, 10, 0))); len(got) != 1 {
			w.Error(got)
		}
	})
}
