package automation_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// memoryWorld is a world on the memory adapter only.
func memoryWorld(t *testing.T) *world {
	clk := clock.NewMock()
	clk.Set(start)
	return newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, nil)
}

func TestAScanWithoutBoundsCannotBeRegistered(t *testing.T) {
	t.Parallel()
	w := memoryWorld(t)
	s := &staff{}
	for want, change := range map[string]func(*automation.ReminderType){
		"a Scan without Triggers":                                 func(t *automation.ReminderType) { t.Triggers = nil },
		"the Scan has no Read":                                    func(t *automation.ReminderType) { t.Scan.Read = nil },
		"Window is 0 days, not 1 to 3660":                         func(t *automation.ReminderType) { t.Scan.Window = 0 },
		"Window is 3661 days":                                     func(t *automation.ReminderType) { t.Scan.Window = 3661 },
		"Batch is 1001 sources, not 1 to 1000":                    func(t *automation.ReminderType) { t.Scan.Batch = 1001 },
		"Batch is -1":                                             func(t *automation.ReminderType) { t.Scan.Batch = -1 },
		"Every is 59s, less than 1m0s":                            func(t *automation.ReminderType) { t.Scan.Every = 59 * time.Second },
		"the Scan allows no Scopes":                               func(t *automation.ReminderType) { t.Scan.Scopes = nil },
		"the Scan's SourceType: the name is empty":                func(t *automation.ReminderType) { t.Scan.SourceType = "" },
		"the Scan's SourceType: the name holds ':'":               func(t *automation.ReminderType) { t.Scan.SourceType = "a:b" },
		"the Scan's Scope 1 is named twice":                       func(t *automation.ReminderType) { t.Scan.Scopes = []automation.Scope{"a", "a"} },
		"the Scan's Scope 0 is named twice or cannot be one":      func(t *automation.ReminderType) { t.Scan.Scopes = []automation.Scope{"\x00any"} },
		"the Scan's BusinessUnit 1 cannot be one":                 func(t *automation.ReminderType) { t.Scan.BusinessUnits = []string{"a", ""} },
		"the Scan's BusinessUnit 0 cannot be one: keys: identity": func(t *automation.ReminderType) { t.Scan.BusinessUnits = []string{"\n"} },
	} {
		got := panics(t, func() {
			w.s.Register(certificates(func(t *automation.ReminderType) {
				t.Triggers, t.Scan = s, &automation.Scan{Read: s.Read, SourceType: "employee", Window: 1, Scopes: []automation.Scope{""}}
				change(t)
			}))
		})
		if !strings.Contains(strings.ReplaceAll(got, "\n", ": "), want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
}

// A provider that leaves what it was asked for is told so, and nothing is done.
func TestI21_APageThatLeavesItsBoundsIsRefused(t *testing.T) {
	t.Parallel()
	employee := func(ids ...string) (out []automation.ScannedSource) {
		for _, id := range ids {
			out = append(out, automation.ScannedSource{Source: automation.Source{"employee", id}, Version: 1, Data: person{expires: date(2026, 5, 1)}})
		}
		return out
	}
	for want, page := range map[string]automation.ScanPage{
		"a page of 3 sources, more than the 2 asked for":         {Sources: employee("1", "2", "3"), Done: true},
		"the page is not Done, and its Next does not move on":    {Sources: employee("1")},
		"a Next of 1025 bytes, more than 1024":                   {Next: strings.Repeat("x", 1025)},
		"a Next that is not a text":                              {Next: "a\x00"},
		`source 1 of the page is a "manager", not a "employee"`:  {Sources: []automation.ScannedSource{employee("1")[0], {Source: automation.Source{"manager", "1"}}}, Done: true},
		"source 1 of the page was in it before":                  {Sources: employee("1", "1"), Done: true},
		"source 0 of the page has a negative Version":            {Sources: []automation.ScannedSource{{Source: automation.Source{"employee", "1"}, Version: -1}}, Done: true},
		"source 0 of the page: keys: identity: part 2: is empty": {Sources: employee(""), Done: true},
	} {
		w := memoryWorld(t)
		s := w.withStaff(nil)
		s.spoil = func(p *automation.ScanPage) {
			*p = page
			p.Done = p.Done || len(s.requests) > 5 // a check that is missing does not keep the test for ever
		}
		_, err := w.s.Maintenance().Reconcile(w.ctx, "", "certificate", nil)
		if err == nil || !strings.Contains(err.Error(), "automation: scan of certificate: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if len(w.rows()) != 0 {
			t.Errorf("%q: %v", want, w.rows())
		}
	}
	w := memoryWorld(t)
	s := w.withStaff(nil)
	s.spoil = func(p *automation.ScanPage) { p.Done, p.Next = len(s.requests) > 5, "stuck" }
	if r, err := w.s.Maintenance().Reconcile(w.ctx, "", "certificate", nil); err == nil || r.Pages != 1 || !strings.Contains(err.Error(), "does not move on") {
		t.Errorf("%+v %v", r, err)
	}
}

func TestReconcileRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	w := memoryWorld(t)
	w.withStaff(func(c *automation.Scan) { c.Scopes = []automation.Scope{"east"} })
	w.s.Register(certificates(func(t *automation.ReminderType) { t.Name = "other" }))
	wantErr := func(s *automation.Scheduler, scope automation.Scope, name, want string) {
		t.Helper()
		if _, err := s.Maintenance().Reconcile(w.ctx, scope, name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	wantErr(w.s, "east", "nobody", `no reminder type "nobody" with a Scan`)
	wantErr(w.s, "east", "other", `no reminder type "other" with a Scan`)
	wantErr(w.s, "", "certificate", `the Scan of certificate does not allow scope ""`)
	_ = w.store.InTx(w.ctx, func(tx storage.Tx) error {
		wantErr(w.s.WithTx(tx), "east", "certificate", "transactions of its own")
		return nil
	})
}

func TestOnlyAllowedBusinessUnitsAreScanned(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(func(c *automation.Scan) { c.BusinessUnits = []string{"north"} })
		w.hire(s, 2)
		s.unit = "south"
		r := w.reconcile(automation.ReconcileOptions{})
		if r.Failed != 0 || r.Elsewhere != 2 || len(w.rows()) != 0 {
			w.t.Errorf("%+v", r)
		}
		s.unit = "north"
		if r := w.reconcile(automation.ReconcileOptions{}); r.Created != 4 || !slices.Equal(s.asks()[0].BusinessUnits, []string{"north"}) {
			w.t.Errorf("%+v", r)
		}
		s.unit = "south" // they have left it: others answer for them
		if r := w.reconcile(automation.ReconcileOptions{FromStart: true}); r.Elsewhere != 2 || r.Deactivated != 0 {
			w.t.Errorf("%+v", r)
		}
	})
}

// The window is of days anywhere on earth, and sources outside it are not read.
func TestTheDueWindowIsThatOfTheRequest(t *testing.T) {
	t.Parallel()
	w := memoryWorld(t)
	s := w.withStaff(func(c *automation.Scan) { c.Window = 10 })
	for id, expires := range map[string]automation.Date{
		"yesterday": date(2026, 3, 6), "today": date(2026, 3, 8), "last": date(2026, 3, 18), "after": date(2026, 3, 19),
	} {
		s.set(id, person{expires: expires, version: 1})
	}
	s.offsets = []int{7}
	w.clk.Set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) // 1 March everywhere but at UTC+12 and beyond
	r := w.reconcile(automation.ReconcileOptions{})
	if r.From != date(2026, 3, 1) || r.To != date(2026, 3, 12) {
		t.Errorf("%+v", r)
	}
	got := slices.Sorted(maps.Keys(w.rows()))
	want := []string{keyOf("after", "2026-03-19", 7), keyOf("last", "2026-03-18", 7), keyOf("today", "2026-03-08", 7)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w.clk.Add(-time.Second)
	if r := w.reconcile(automation.ReconcileOptions{}); r.From != date(2026, 2, 28) || r.To != date(2026, 3, 12) {
		t.Errorf("%+v", r)
	}
}

// The same source by an event and by a scan: the same rows, but for who asked.
func TestI19_EventsAndReconciliationMakeTheSameRows(t *testing.T) {
	t.Parallel()
	rows := func(by func(*world, *staff)) map[string]automation.ScheduleRow {
		w := memoryWorld(t)
		s := w.withStaff(nil)
		w.hire(s, 7)
		by(w, s)
		out := w.rows()
		for key, row := range out {
			row.ID, row.EventType, row.EventID = 0, "", ""
			out[key] = row
		}
		return out
	}
	events := rows(func(w *world, s *staff) {
		for id := range s.people {
			w.hear(s, id)
		}
	})
	scan := rows(func(w *world, _ *staff) { w.reconcile(automation.ReconcileOptions{}) })
	if diff := cmp.Diff(events, scan); diff != "" || len(scan) != 14 {
		t.Error(diff)
	}
}

// What ended at its moment is not revived for ever: no event asks for it again.
func TestReconciliationLeavesAloneWhatEndedLongAgo(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := &staff{people: map[string]person{}, offsets: []int{30, 7}, sendAt: "09:00"}
		scan := &automation.Scan{Read: s.Read, SourceType: "employee", Window: 100, Scopes: []automation.Scope{""}}
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Triggers, t.Scan, t.Recipients = s, scan, automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil })
		}))
		w.hire(s, 1)
		w.hear(s, "000")
		w.pollAt(day(2026, 4, 1, 9)) // nobody to tell
		if r := w.reconcile(automation.ReconcileOptions{FromStart: true}); r.Reactivated != 1 {
			w.t.Errorf("within a day it is tried again: %+v", counts(r))
		}
		w.poll()
		w.clk.Add(25 * time.Hour)
		if r := w.reconcile(automation.ReconcileOptions{FromStart: true}); r.OffsetPassed != 1 || r.Unchanged != 1 {
			w.t.Errorf("%+v", counts(r))
		}
	})
}

// A setting that is off ends the rows of all its sources.
func TestASettingThatIsOffReachesEverySourceByAScan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		settings := settingsMap{"certificate": true}
		w := newWorld(t, store, clk, &automation.Options{Settings: settings})
		s := w.withStaff(nil)
		w.hire(s, 3)
		w.reconcile(automation.ReconcileOptions{})
		settings["certificate"] = false
		if r := w.reconcile(automation.ReconcileOptions{FromStart: true}); r.Deactivated != 6 || r.Differences[0].Detail != "ReminderSettingInactive" {
			t.Errorf("%+v", r)
		}
		if r := w.reconcile(automation.ReconcileOptions{FromStart: true}); r.Unchanged != 3 {
			t.Errorf("%+v", r)
		}
		settings["certificate"] = true
		if r := w.reconcile(automation.ReconcileOptions{FromStart: true}); r.Reactivated != 6 {
			t.Errorf("%+v", r)
		}
	})
}

// Many sources of a page take few statements, whatever is to be done. What Ensure
// found last, which makes the difference of a statement, is remembered for the
// whole process.
func TestAPageTakesFewStatements(t *testing.T) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	s := w.withStaff(func(c *automation.Scan) { c.Batch = 450 })
	w.hire(s, 450)
	for _, step := range []struct {
		name string
		most int
		do   func()
	}{
		{"all are new", 10, func() {}},
		{"all is as wanted", 1, func() {}},
		{"all move", 20, func() { s.offsets = []int{29} }},
	} {
		step.do()
		calls.Take()
		r := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if used := calls.Count(); used > step.most || r.Pages != 1 {
			t.Errorf("%s: %d statements, more than %d; %+v", step.name, used, step.most, counts(r))
		}
	}
}

// Two tenants have employees of the same numbers.
func TestI28_AScanSeesTheRowsOfItsTenantOnly(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(func(c *automation.Scan) { c.Scopes = []automation.Scope{"east", "west"} })
		w.hire(s, 2)
		for _, scope := range []automation.Scope{"east", "west"} {
			if r, err := w.s.Maintenance().Reconcile(w.ctx, scope, "certificate", nil); err != nil || r.Created != 4 {
				w.t.Errorf("%+v %v", r, err)
			}
		}
		s.offsets = []int{30}
		before := w.rowIn("west", keyOf("000", "2026-05-01", 7))
		r, err := w.s.Maintenance().Reconcile(w.ctx, "east", "certificate", &automation.ReconcileOptions{FromStart: true})
		if err != nil || r.Deactivated != 2 || len(r.Differences) != 2 {
			w.t.Errorf("%+v %v", r, err)
		}
		if diff := cmp.Diff(before, w.rowIn("west", keyOf("000", "2026-05-01", 7))); diff != "" {
			w.t.Error(diff)
		}
		if row := w.rowIn("east", keyOf("000", "2026-05-01", 7)); row.Status != automation.StatusDeactivated {
			w.t.Errorf("%+v", row)
		}
	})
}

// A class fills, empties and fills again, and nobody tells: each scan counts the
// rise or fall that it finds, as an event would have.
func TestI19_RisesThatNoEventToldAreCountedByReconciliation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := newWorld(t, store, clk, nil)
		var version int64
		m := w.withMeter(func(t *automation.ReminderType) {
			t.Scan = &automation.Scan{SourceType: "class", Window: 1, Scopes: []automation.Scope{""}, Read: func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
				return automation.ScanPage{Done: true, Sources: []automation.ScannedSource{{Source: automation.Source{"class", "7"}, Version: version}}}, nil
			}}
		})
		run := func(dry bool) automation.ReconcileReport {
			t.Helper()
			r, err := w.s.Maintenance().Reconcile(w.ctx, "", "capacity", &automation.ReconcileOptions{FromStart: true, DryRun: dry})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for i, step := range []struct {
			reading string
			want    map[string]int
		}{
			{"5", map[string]int{"scanned": 1, "unchanged": 1, "pages": 1}},
			{"12", map[string]int{"scanned": 1, "created": 1, "pages": 1}},
			{"6", map[string]int{"scanned": 1, "deactivated": 1, "pages": 1}},
			{"12", map[string]int{"scanned": 1, "created": 1, "pages": 1}},
		} {
			version++
			m.set(line{value: "10", reading: step.reading}.under(threshold.FalseToTrue))
			before := w.everything()
			dry := run(true)
			if diff := cmp.Diff(before, w.everything()); diff != "" {
				t.Error("a dry run wrote:", diff)
			}
			got := run(false)
			if diff := cmp.Diff(step.want, counts(got)); diff != "" || !cmp.Equal(counts(dry), counts(got)) {
				t.Errorf("step %d: %s; dry %v", i, diff, counts(dry))
			}
			before = w.everything()
			if again := run(false); again.Unchanged != 1 || before != w.everything() {
				t.Errorf("step %d, repeated: %v", i, counts(again))
			}
		}
		want := map[string]string{
			thresholdKey("10:FalseToTrue:source@1"): "Deactivated ThresholdNoLongerMet", thresholdKey("10:FalseToTrue:source@2"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			t.Error(diff)
		}
		if got := w.conditions()["bookings 10 source"]; got.Rises != 2 || got.SourceVersion != 4 {
			t.Errorf("%+v", w.conditions())
		}
		if got := w.handle(booked(3)); got.Outcome != automation.EventStale {
			t.Errorf("%+v", got)
		}
	})
}

// Tenants come and go while the process runs.
func TestAScanListsItsScopesAnew(t *testing.T) {
	eachWorld(t, func(w *world) {
		var scopes []automation.Scope
		var fails error
		asked := 0
		w.withStaff(func(c *automation.Scan) {
			c.Scopes, c.ScopesOf = nil, func(context.Context) ([]automation.Scope, error) {
				asked++
				return scopes, fails
			}
		})
		runner := w.scanner()
		tick := func() map[automation.Scope]bool {
			w.clk.Add(2 * time.Hour)
			for {
				if report, err := runner.Poll(w.ctx, 100); err != nil {
					w.t.Fatal(err)
				} else if report.Claimed == 0 {
					break
				}
			}
			off := map[automation.Scope]bool{}
			for _, scope := range []automation.Scope{"a", "b"} {
				states, err := w.s.Maintenance().Reconciliations(w.ctx, scope)
				if err != nil {
					w.t.Fatal(err)
				}
				for _, s := range states {
					off[scope] = s.Off || s.Failures > 0
				}
			}
			return off
		}
		is := func(want map[automation.Scope]bool) {
			w.t.Helper()
			if diff := cmp.Diff(want, tick()); diff != "" {
				w.t.Error(diff)
			}
		}
		fails = errBoom // before it has ever answered
		is(map[automation.Scope]bool{})
		fails, scopes = nil, []automation.Scope{"a"}
		is(map[automation.Scope]bool{"a": false})
		scopes = []automation.Scope{"b"}
		is(map[automation.Scope]bool{"a": true, "b": false})
		fails, scopes = errBoom, nil // the last answer counts
		is(map[automation.Scope]bool{"a": true, "b": false})
		fails, scopes = nil, []automation.Scope{"a", "b"}
		is(map[automation.Scope]bool{"a": false, "b": false})
		if before := asked; w.scan().Claimed == 0 && asked != before {
			w.t.Errorf("asked %d times within a minute", asked-before)
		}
	})
}
