package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// In London clocks jump from 01:00 to 02:00 on 29 March 2026, and on 25 October
// they show 01:00 to 02:00 twice.
func TestDaylightSavingIsByPolicy(t *testing.T) {
	eachWorld(t, func(w *world) {
		at := func(d automation.Date, gap dst.GapPolicy, overlap dst.OverlapPolicy) automation.Ensured {
			c := candidate(func(c *automation.Candidate) {
				c.TargetDate, c.DaysBefore, c.SendAt, c.Zone, c.Gap, c.Overlap = d, 0, "01:30", "Europe/London", gap, overlap
				c.TriggerKey = "t" + string(gap) + string(overlap)
			})
			return w.ensure(c)[0]
		}
		spring, autumn := date(2026, 3, 29), date(2026, 10, 25)
		for _, c := range []struct {
			got  automation.Ensured
			want time.Time
		}{
			{at(spring, "", ""), day(2026, 3, 29, 1)},
			{at(spring, dst.GapForward, ""), day(2026, 3, 29, 1)},
			{at(spring, dst.GapBack, ""), day(2026, 3, 29, 1).Add(-time.Second)},
			{at(autumn, "", ""), day(2026, 10, 25, 0).Add(30 * time.Minute)},
			{at(autumn, "", dst.OverlapFirst), day(2026, 10, 25, 0).Add(30 * time.Minute)},
			{at(autumn, "", dst.OverlapSecond), day(2026, 10, 25, 1).Add(30 * time.Minute)},
		} {
			if c.got.Outcome != storage.Created || !c.got.ScheduledOn.Equal(c.want) {
				w.t.Errorf("%+v, want %v", c.got, c.want)
			}
		}
		if got := at(spring, dst.GapSkip, ""); got.Outcome != causes.TimeSkipped || len(w.rows()) != 6 {
			w.t.Errorf("%+v", got)
		}
	})
}

// The same local time before and after the clocks change is an hour apart in UTC.
func TestOffsetsAcrossADaylightSavingChangeKeepTheirLocalTime(t *testing.T) {
	eachWorld(t, func(w *world) {
		var got []time.Time
		for _, days := range []int{7, 3, 1} {
			e := w.ensure(candidate(func(c *automation.Candidate) {
				c.TargetDate, c.DaysBefore, c.Zone = date(2026, 4, 1), days, "Europe/Dublin"
			}))
			got = append(got, e[0].ScheduledOn)
		}
		want := []time.Time{day(2026, 3, 25, 9), day(2026, 3, 29, 8), day(2026, 3, 31, 8)}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestABusinessUnitThatMovesZonesMovesItsPendingRows(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(candidate(nil))
		got := w.ensure(candidate(func(c *automation.Candidate) { c.Zone = "America/New_York" }))[0]
		if got.Outcome != storage.Updated || got.Key != certificateKey || !got.ScheduledOn.Equal(day(2026, 4, 1, 13)) {
			w.t.Errorf("%+v", got)
		}
	})
}

func TestABusinessDayMovesTheLocalDateAndNotTheKey(t *testing.T) {
	eachWorld(t, func(w *world) {
		monday := func(_ context.Context, _ automation.Scope, _ string, d automation.Date) (automation.Date, error) {
			for d.Weekday() == time.Saturday || d.Weekday() == time.Sunday {
				d = d.AddDays(1)
			}
			return d, nil
		}
		w.s.Register(certificates(func(t *automation.ReminderType) { t.BusinessDay = monday }))
		got := w.ensure(candidate(func(c *automation.Candidate) { c.DaysBefore = 27 }))[0] // Saturday, 4 April
		if got.Key != "reminder:certificate:employee:7:default:2026-05-01:27" || !got.ScheduledOn.Equal(day(2026, 4, 6, 9)) {
			w.t.Errorf("%+v", got)
		}
		if row := w.row(got.Key); row.LocalDate != "2026-04-06" {
			w.t.Error(row.LocalDate)
		}
	})
}

// The key does not depend on who builds it, when and where.
func TestI19_TheSameWishHasTheSameKeyEverywhere(t *testing.T) {
	eachWorld(t, func(w *world) {
		identity := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
		c := candidate(func(c *automation.Candidate) { c.Identity = identity })
		first := w.ensure(c)[0]
		p := &triggers{}
		p.set(automation.Candidate{TargetDate: c.TargetDate, DaysBefore: c.DaysBefore, Identity: map[string]string{"d": "4", "c": "3", "b": "2", "a": "1"}})
		w.clk.Add(37 * time.Hour)
		elsewhere := newWorld(w.t, w.store, w.clk, nil) // another process
		elsewhere.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers = p }))
		second := elsewhere.handle(changed(1)).Ensured[0]
		if diff := cmp.Diff(first.Key, second.Key); diff != "" || second.Outcome != storage.Unchanged {
			w.t.Error(diff, second.Outcome)
		}
	})
}

// I-19: half past midnight in Auckland is still the day before in UTC.
func TestI19_TheLocalDateIsThatOfTheZone(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		got := w.ensure(candidate(func(c *automation.Candidate) { c.Zone, c.SendAt = "Pacific/Auckland", "00:30" }))[0]
		row := w.row(got.Key)
		if row.LocalDate != "2026-04-01" || !row.ScheduledOn.Equal(time.Date(2026, 3, 31, 11, 30, 0, 0, time.UTC)) {
			w.t.Errorf("local date %s, at %s", row.LocalDate, row.ScheduledOn)
		}
	})
}

func TestPreview(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.clk.Set(day(2026, 3, 7, 12))
		newYork := daily(func(c *automation.Candidate) {
			c.Zone, c.Recurrence = "America/New_York", &automation.Recurrence{Cron: "30 2 * * *"}
		})
		got, err := w.s.Preview(w.ctx, newYork, 2)
		want := []automation.Occurrence{
			{on(day(2026, 3, 8, 7)), date(2026, 3, 8), "02:30", "America/New_York", day(2026, 3, 8, 7), dst.ResolvedForward},
			{on(day(2026, 3, 9, 6).Add(30 * time.Minute)), date(2026, 3, 9), "02:30", "America/New_York", day(2026, 3, 9, 6).Add(30 * time.Minute), dst.ResolvedExact},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.t.Error(diff, err)
		}
		got, err = w.s.Preview(w.ctx, candidate(nil), 5)
		want = []automation.Occurrence{{certificateKey, date(2026, 4, 1), "09:00", "UTC", day(2026, 4, 1, 9), dst.ResolvedExact}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.t.Error(diff, err)
		}
		for _, n := range []int{0, 1001} {
			if _, err := w.s.Preview(w.ctx, newYork, n); err == nil {
				w.t.Error(n)
			}
		}
		if len(w.rows()) != 0 {
			w.t.Error("a preview wrote something")
		}
	})
}

func TestRecurringCandidatesThatAreRefused(t *testing.T) {
	eachWorld(t, func(w *world) {
		for want, c := range map[string]automation.Candidate{
			`TargetDate: goes with no Recurrence: a reminder has one of them`: daily(func(c *automation.Candidate) { c.TargetDate = date(2026, 3, 1) }),
			`Threshold: goes with no Recurrence: a reminder has one of them`:  daily(func(c *automation.Candidate) { c.Threshold = &threshold.Threshold{} }),
			`ScheduledOn: does not go with a Recurrence or a Run`:             daily(func(c *automation.Candidate) { c.ScheduledOn = start }),
			`SendAt: goes with no Cron, which says itself when`:               daily(func(c *automation.Candidate) { c.SendAt = "09:00" }),
			`SendAt: is not set: set it in the candidate, or in its type, which has to be registered in this process`: daily(func(c *automation.Candidate) {
				c.Recurrence = &automation.Recurrence{RRule: "FREQ=DAILY", Start: date(2026, 3, 1)}
			}),
			`Recurrence: cron 0 9 30 2 * never comes true`:     cron("0 9 30 2 *"),
			`Recurrence: neither Cron nor RRule is set`:        cron(""),
			`Zone: time zone "Mars/Olympus" is unknown`:        daily(func(c *automation.Candidate) { c.Zone = "Mars/Olympus" }),
			`Gap, Overlap: gap policy "jump"`:                  daily(func(c *automation.Candidate) { c.Gap = "jump" }),
			`source: holds`:                                    daily(func(c *automation.Candidate) { c.Source.ID = "7:8" }),
			`candidate 1 ("export"): ScheduledOn: does not go`: {AutomationType: "export", Source: automation.Source{"file", "1"}, ScheduledOn: start, Recurrence: &automation.Recurrence{Cron: "@daily"}},
		} {
			out, err := w.s.Ensure(w.ctx, daily(func(c *automation.Candidate) { c.TriggerKey = "good" }), c)
			var refused *automation.CandidateError
			if !errors.As(err, &refused) || refused.Index != 1 || !strings.Contains(err.Error(), want) || out != nil {
				w.t.Errorf("%v, want %s", err, want)
			}
		}
		if _, err := w.s.Ensure(w.ctx, daily(nil), cron("0 10 * * *")); err == nil || !strings.Contains(err.Error(), "another candidate of the call says otherwise") {
			w.t.Error(err)
		}
		if len(w.rows()) != 0 {
			w.t.Error("something was written")
		}
		same := w.ensure(daily(nil), daily(nil)) // the same twice changes nothing
		if same[0].Outcome != storage.Created || same[1].Key != same[0].Key || len(w.rows()) != 1 {
			w.t.Errorf("%+v", same)
		}
	})
}

// Series of two tenants with equal names have nothing in common.
func TestI28_SeriesOfTwoTenants(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil), daily(func(c *automation.Candidate) { c.Scope = "b" }))
		w.must(w.s.Support().Cancel(w.ctx, "b", on(day(2026, 3, 1, 9)), ann))
		w.wantShort("03-01T09:00 Pending")
		if row := w.rowIn("b", on(day(2026, 3, 2, 9))); row.Status != automation.StatusPending {
			w.t.Errorf("%+v", row)
		}
	})
}

// A rule that this machine cannot read keeps no row from being settled; Health
// lists its series.
func TestACadenceThatCannotBeRead(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil))
		w.must(w.store.InTx(w.ctx, func(tx storage.Tx) error {
			all, err := automation.SeriesTable.Find(w.ctx, tx, "", driver.Query{Limit: 10})
			if err != nil {
				return err
			}
			all[0].Cron = "by a version to come"
			return automation.SeriesTable.Save(w.ctx, tx, all...)
		}))
		w.pollAt(day(2026, 3, 1, 9))
		w.wantShort("03-01T09:00 Completed")
		if len(w.lost()) != 1 {
			w.t.Error("Health would not list it")
		}
		w.ensure(daily(nil))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Pending")
	})
}

func TestExplainTellsTheCadence(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil))
		w.pollAt(day(2026, 3, 1, 9))
		for _, key := range []string{on(day(2026, 3, 1, 9)), on(day(2026, 3, 5, 9))} { // the second has no row
			e, err := w.s.Explain(w.ctx, "", key)
			if err != nil || !strings.Contains(e.String(), "  recurs: cron 0 9 * * *, UTC; next 2026-03-02T09:00:00Z\n") {
				w.t.Error(e, err)
			}
			want := &automation.SeriesState{Active: true, Cadence: "cron 0 9 * * *", Zone: "UTC", Next: day(2026, 3, 2, 9)}
			if diff := cmp.Diff(want, e.Series); diff != "" {
				w.t.Error(diff)
			}
		}
	})
}
