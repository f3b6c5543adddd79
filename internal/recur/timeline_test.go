package recur

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/internal/civil"
)

// What happens on the days on which clocks change. The texts are the instants in
// UTC with how each came about.
func TestDaysOnWhichClocksChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone, cron string
		policy     civil.Policy
		after      string
		want       string
	}{
		"New York, gap, forward":                  {"America/New_York", "30 2 * * *", civil.Policy{}, "2026-03-07T12:00Z", "03-08T07:00 shifted-forward, 03-09T06:30 exact"},
		"New York, gap, back":                     {"America/New_York", "30 2 * * *", civil.Policy{Gap: civil.ShiftBack}, "2026-03-07T12:00Z", "03-08T06:59 shifted-back, 03-09T06:30 exact"},
		"New York, gap, skip":                     {"America/New_York", "30 2 * * *", civil.Policy{Gap: civil.Skip}, "2026-03-07T12:00Z", "03-09T06:30 exact, 03-10T06:30 exact"},
		"New York, gap, half hours":               {"America/New_York", "*/30 1-3 * * *", civil.Policy{}, "2026-03-08T05:59Z", "03-08T06:00 exact, 03-08T06:30 exact, 03-08T07:00 shifted-forward, 03-08T07:30 exact"},
		"New York, overlap, half hours":           {"America/New_York", "*/30 0-2 * * *", civil.Policy{}, "2026-11-01T04:29Z", "11-01T04:30 exact, 11-01T05:00 first-of-two, 11-01T05:30 first-of-two, 11-01T07:00 exact"},
		"New York, overlap, second":               {"America/New_York", "*/30 0-2 * * *", civil.Policy{Overlap: civil.Second}, "2026-11-01T04:29Z", "11-01T04:30 exact, 11-01T06:00 second-of-two, 11-01T06:30 second-of-two, 11-01T07:00 exact"},
		"New York, within the first pass, second": {"America/New_York", "*/30 0-2 * * *", civil.Policy{Overlap: civil.Second}, "2026-11-01T05:45Z", "11-01T06:00 second-of-two, 11-01T06:30 second-of-two"},
		"New York, within the second pass, first": {"America/New_York", "*/30 0-2 * * *", civil.Policy{}, "2026-11-01T06:15Z", "11-01T07:00 exact, 11-01T07:30 exact"},
		"London, gap":                             {"Europe/London", "30 1 * * *", civil.Policy{}, "2026-03-28T12:00Z", "03-29T01:00 shifted-forward, 03-30T00:30 exact"},
		"London, overlap":                         {"Europe/London", "30 1 * * *", civil.Policy{}, "2026-10-24T12:00Z", "10-25T00:30 first-of-two, 10-26T01:30 exact"},
		"Lord Howe, gap":                          {"Australia/Lord_Howe", "15 2 * * *", civil.Policy{}, "2026-10-03T12:00Z", "10-03T15:30 shifted-forward, 10-04T15:15 exact"},
		"Lord Howe, overlap":                      {"Australia/Lord_Howe", "45 1 * * *", civil.Policy{Overlap: civil.Second}, "2026-04-04T12:00Z", "04-04T15:15 second-of-two, 04-05T15:15 exact"},
		"Apia, a date that never was":             {"Pacific/Apia", "0 9 * * *", civil.Policy{}, "2011-12-29T12:00Z", "12-29T19:00 exact, 12-30T10:00 shifted-forward, 12-30T19:00 exact"},
		"Apia, left out":                          {"Pacific/Apia", "0 9 * * *", civil.Policy{Gap: civil.Skip}, "2011-12-29T12:00Z", "12-29T19:00 exact, 12-30T19:00 exact"},
		"Apia, every minute":                      {"Pacific/Apia", "* * * * *", civil.Policy{}, "2011-12-30T09:59Z", "12-30T10:00 shifted-forward, 12-30T10:01 exact"},
	} {
		cadence, err := Parse(Spec{Cron: c.cron})
		if err != nil {
			t.Fatal(err)
		}
		after, err := time.Parse("2006-01-02T15:04Z", c.after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		line := Timeline{cadence, zone(t, c.zone), c.policy}
		for _, o := range line.Preview(after, strings.Count(c.want, ",")+1) {
			got = append(got, o.On.Format("01-02T15:04 ")+string(o.Resolution))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Calendars write UNTIL in UTC beside a zone (RFC 5545, 3.3.10): it is an instant, and the
// last one belongs to the rule.
func TestUntilInUTC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, zone, at string
		overlap        civil.OverlapPolicy
		start          civil.Date
		want           string
	}{
		{"FREQ=WEEKLY;UNTIL=20230819T093000Z", "Asia/Jerusalem", "12:30", "", day(2023, 8, 5), "08-05T12:30 08-12T12:30 08-19T12:30"},
		{"FREQ=WEEKLY;UNTIL=20230819T092959Z", "Asia/Jerusalem", "12:30", "", day(2023, 8, 5), "08-05T12:30 08-12T12:30"},
		{"FREQ=DAILY;UNTIL=20260304T045959Z", "America/Toronto", "20:00", "", day(2026, 3, 1), "03-01T20:00 03-02T20:00 03-03T20:00"},
		{"FREQ=WEEKLY;UNTIL=20260330T080000Z;BYDAY=MO", "Europe/Dublin", "09:00", "", day(2026, 3, 16), "03-16T09:00 03-23T09:00 03-30T09:00"},
		{"FREQ=DAILY;UNTIL=20260301T190000Z", "Pacific/Kiritimati", "09:00", "", day(2026, 3, 1), "03-01T09:00 03-02T09:00"},
		{"FREQ=DAILY;UNTIL=20261101T053000Z", "America/New_York", "01:30", civil.First, day(2026, 10, 31), "10-31T01:30 11-01T01:30"},
		{"FREQ=DAILY;UNTIL=20261101T053000Z", "America/New_York", "01:30", civil.Second, day(2026, 10, 31), "10-31T01:30"},
	} {
		at, err := civil.ParseTimeOfDay(c.at)
		if err != nil {
			t.Fatal(err)
		}
		cadence, err := Parse(Spec{RRule: c.rule, Start: c.start, At: at})
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, o := range (Timeline{cadence, zone(t, c.zone), civil.Policy{Overlap: c.overlap}}).Preview(floating(c.start, civil.TimeOfDay{}).Add(-48*time.Hour), 5) {
			got = append(got, o.Local.Format("01-02T15:04"))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s in %s: %s", c.rule, c.zone, diff)
		}
	}
}

// A rule whose local times never exist under the policy ends, in bounded time.
func TestALocalTimeThatNeverExistsEnds(t *testing.T) {
	t.Parallel()
	cadence, err := Parse(Spec{RRule: "FREQ=YEARLY;BYMONTH=3;BYDAY=2SU", Start: day(2026, 3, 1), At: civil.TimeOfDay{Hour: 2, Minute: 30}})
	if err != nil {
		t.Fatal(err)
	}
	line := Timeline{cadence, zone(t, "America/New_York"), civil.Policy{Gap: civil.Skip}}
	if o, ok := line.After(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); ok {
		t.Error(o)
	}
}

func TestLatestIsTheLastOfAChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := genCron().Draw(t, "cron")
		cadence, err := Parse(Spec{Cron: c.text})
		if err != nil {
			return
		}
		line := Timeline{cadence, zone(t, rapid.SampledFrom(zonesOfMinutes).Draw(t, "zone")), civil.Policy{}}
		after := genBegin(line.Zone).Draw(t, "after")
		until := after.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "minutes")) * time.Minute)
		var want Occurrence
		for o, ok := line.After(after); ok && !o.On.After(until); o, ok = line.After(o.On) {
			want = o
		}
		got, found := line.Latest(after, until)
		if got != want || found != !want.On.IsZero() {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
