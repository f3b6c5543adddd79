package report_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
)

// tenZones have changes of their clocks in March 2026 in both directions, at
// several hours, by half an hour, and none.
var tenZones = []string{
	"Europe/Dublin", "Europe/Berlin", "America/New_York", "America/Santiago", "America/St_Johns",
	"Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Auckland", "Africa/Casablanca", "UTC",
}

// rhythm is a cadence, and beside it what it means in plain words: which minutes
// of a civil day it names. The test trusts only the second.
type rhythm struct {
	cadence func(minute int) automation.Recurrence
	sendAt  string
	names   func(day time.Time, minuteOfDay, minute int) bool // day is a midnight in UTC that stands for a civil day
	share   int                                               // of a hundred subscriptions
}

func cron(form string) func(int) automation.Recurrence {
	return func(minute int) automation.Recurrence { return automation.Recurrence{Cron: fmt.Sprintf(form, minute)} }
}

var first = automation.Date{Year: 2026, Month: 2, Day: 2} // a Monday

var rhythms = []rhythm{
	{cadence: cron("%d * * * *"), share: 3, names: func(_ time.Time, m, minute int) bool { return m%60 == minute }},
	{cadence: cron("%d */6 * * *"), share: 10, names: func(_ time.Time, m, minute int) bool { return m%360 == minute }},
	{cadence: cron("%d 2 * * *"), share: 30, names: func(_ time.Time, m, minute int) bool { return m == 120+minute }}, // many clocks change then
	{cadence: cron("%d 1 * * 1-5"), share: 20, names: func(d time.Time, m, minute int) bool {
		return m == 60+minute && d.Weekday() >= time.Monday && d.Weekday() <= time.Friday
	}},
	{
		cadence: func(int) automation.Recurrence {
			return automation.Recurrence{RRule: "FREQ=WEEKLY;BYDAY=SU,WE", Start: first}
		},
		sendAt: "02:30", share: 22,
		names: func(d time.Time, m, _ int) bool {
			return m == 150 && (d.Weekday() == time.Sunday || d.Weekday() == time.Wednesday)
		},
	},
	{cadence: cron("%d 9 L * *"), share: 15, names: func(d time.Time, m, minute int) bool { return m == 540+minute && d.AddDate(0, 0, 1).Day() == 1 }},
}

// simulated is one subscription and all that is expected of it.
type simulated struct {
	sub    report.Subscription
	rhythm rhythm
	minute int
	zone   *time.Location
}

func (s simulated) guid() string { return s.sub.GUID }

// plan spreads subscriptions over rhythms, minutes and zones.
func plan(t *testing.T, n int) []simulated {
	var out []simulated
	for i := 1; i <= n; i++ {
		turn, r := i*37%100, 0
		for turn >= rhythms[r].share {
			turn -= rhythms[r].share
			r++
		}
		s := simulated{rhythm: rhythms[r], minute: i / 10 % 2 * 30}
		zone, err := time.LoadLocation(tenZones[i*7%len(tenZones)])
		if err != nil {
			t.Fatal(err)
		}
		s.zone = zone
		s.sub = weekly(func(sub *report.Subscription) {
			sub.GUID, sub.BusinessUnit, sub.Zone = fmt.Sprintf("g-%05d", i), "", zone.String()
			sub.Cadence, sub.SendAt = s.rhythm.cadence(s.minute), s.rhythm.sendAt
		})
		out = append(out, s)
	}
	return out
}

const wall = "2006-01-02 15:04"

// clocks notes, for each zone, at which instant a clock on its walls first shows a
// minute: it walks over the instants.
func clocks(t *testing.T, from, until time.Time) map[string]map[string]time.Time {
	out := map[string]map[string]time.Time{}
	for _, name := range tenZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]time.Time{}
		for on := from.Add(-96 * time.Hour); on.Before(until.Add(96 * time.Hour)); on = on.Add(time.Minute) {
			if text := on.In(zone).Format(wall); shown[text].IsZero() {
				shown[text] = on
			}
		}
		out[name] = shown
	}
	return out
}

// expected works out by hand when a subscription runs, from the civil minutes that
// its rhythm names. One that no clock shows is the first instant behind the gap,
// one that they show twice is the first of the two.
func (s simulated) expected(shown map[string]time.Time, from, until time.Time) map[time.Time]bool {
	out := map[time.Time]bool{}
	for day := from.Truncate(24*time.Hour).AddDate(0, 0, -1); day.Before(until.AddDate(0, 0, 2)); day = day.AddDate(0, 0, 1) {
		for m := range 24 * 60 {
			if !s.rhythm.names(day, m, s.minute) {
				continue
			}
			civil := day.Add(time.Duration(m) * time.Minute)
			for shown[civil.Format(wall)].IsZero() {
				civil = civil.Add(time.Minute)
			}
			if on := shown[civil.Format(wall)]; on.After(from) && !on.After(until) {
				out[on] = true
			}
		}
	}
	return out
}

// A month of reports from hourly to monthly in ten zones whose clocks change:
// each run that the wall clocks ask for happens once, at its moment, and none
// beside. With BELFRY_TEST=nightly it is 10,000 subscriptions.
//
//spec:r-002
func TestI13_AMonthOfReportsRunsOnceEachAtItsLocalTime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		n, step := 15, 24*time.Hour // the databases show that they say the same, a day late
		if _, memory := store.(interface{ Close() error }); !memory {
			n, step = 150, 30*time.Minute
			if testlevel.Has(t, testlevel.Nightly) {
				n = 10000
			}
		}
		simulate(t, store, clk, n, step)
	})
}

func simulate(t *testing.T, store storage.Store, clk *clock.Mock, n int, step time.Duration) {
	w := newWorld(t, store, clk, nil)
	from := at(3, 1, 0, 0)
	until := from.AddDate(0, 1, 0)
	clk.Set(from)
	late := map[string]int{}
	w.build = func(_ context.Context, run report.Run) (report.Report, error) {
		if by := clk.Now().Sub(run.ScheduledOn); by < 0 || by >= step {
			w.mu.Lock()
			late[run.Key]++
			w.mu.Unlock()
		}
		return report.Report{Empty: run.Subscription.Name != "Delivered"}, nil
	}
	subs := plan(t, n)
	for i := range subs {
		if i%20 == 7 { // the others end as empty, which is cheap
			subs[i].sub.Name, subs[i].sub.Delivery.SendEmpty = "Delivered", true
		}
		w.create(subs[i].sub)
	}
	for on := from; on.Before(until); {
		on = on.Add(step)
		w.pollAt(on)
	}
	built, sent := map[string]map[time.Time]int{}, map[string]int{}
	for _, run := range w.built {
		if built[run.Subscription.GUID] == nil {
			built[run.Subscription.GUID] = map[time.Time]int{}
		}
		built[run.Subscription.GUID][run.ScheduledOn]++
	}
	runs, shown := 0, clocks(t, from, until)
	for _, s := range subs {
		want := s.expected(shown[s.zone.String()], from, until)
		runs += len(want)
		s.compare(t, want, built[s.guid()])
		if s.sub.Name == "Delivered" {
			sent[s.guid()] = len(want)
		}
	}
	if total := sum(sent); len(w.sent) != total || len(late) > 0 {
		t.Errorf("%d messages of %d, %d runs at another moment", len(w.sent), total, len(late))
	}
	t.Logf("%d subscriptions, %d runs, %d messages", n, runs, len(w.sent))
}

func (s simulated) compare(t *testing.T, want map[time.Time]bool, built map[time.Time]int) {
	t.Helper()
	for on, n := range built {
		if !want[on] || n != 1 {
			t.Errorf("%s in %s, %+v: ran %d times at %s", s.guid(), s.zone, s.sub.Cadence, n, on.In(s.zone))
		}
	}
	for _, on := range slices.Collect(maps.Keys(want)) {
		if built[on] == 0 {
			t.Errorf("%s in %s, %+v: did not run at %s", s.guid(), s.zone, s.sub.Cadence, on.In(s.zone))
		}
	}
}

func sum(all map[string]int) (total int) {
	for _, n := range all {
		total += n
	}
	return total
}

// What the simulation expects is itself right: the clocks of these zones change in
// that month.
func TestTheSimulationHasChangesOfTheClocks(t *testing.T) {
	t.Parallel()
	from, until := at(3, 1, 0, 0), at(4, 1, 0, 0)
	changes := 0
	for _, name := range tenZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		_, before := from.In(zone).Zone()
		if _, after := until.In(zone).Zone(); after != before {
			changes++
		}
	}
	if changes < 3 {
		t.Errorf("%d changes", changes)
	}
}
