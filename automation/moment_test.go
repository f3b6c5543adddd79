package automation_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// In London clocks jump from 01:00 to 02:00 on 29 March 2026, and on 25 October
// they show 01:00 to 02:00 twice.
//
//spec:a-021 a-077
func TestDaylightSavingIsByPolicy(t *testing.T) {
	eachWorld(t, func(w *world) {
		at := func(d automation.Date, gap automation.GapPolicy, overlap automation.OverlapPolicy) automation.Ensured {
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
			{at(spring, automation.GapForward, ""), day(2026, 3, 29, 1)},
			{at(spring, automation.GapBack, ""), day(2026, 3, 29, 1).Add(-time.Second)},
			{at(autumn, "", ""), day(2026, 10, 25, 0).Add(30 * time.Minute)},
			{at(autumn, "", automation.OverlapFirst), day(2026, 10, 25, 0).Add(30 * time.Minute)},
			{at(autumn, "", automation.OverlapSecond), day(2026, 10, 25, 1).Add(30 * time.Minute)},
		} {
			if c.got.Outcome != storage.Created || !c.got.ScheduledOn.Equal(c.want) {
				w.t.Errorf("%+v, want %v", c.got, c.want)
			}
		}
		if got := at(spring, automation.GapSkip, ""); got.Outcome != automation.TimeSkipped || len(w.rows()) != 6 {
			w.t.Errorf("%+v", got)
		}
	})
}

// The same local time before and after the clocks change is an hour apart in UTC.
//
//spec:a-015
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

//spec:a-058
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
//
//spec:a-038
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
//
//spec:a-022 a-075
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
