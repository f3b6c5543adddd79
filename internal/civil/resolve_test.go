package civil

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	back   = Policy{Gap: ShiftBack}
	second = Policy{Overlap: Second}
)

// Instants taken from the published rules of each zone, not from this code.
func TestResolveAgreesWithThePublishedRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, local string
		policy      Policy
		want        string
		how         Resolution
	}{
		{"UTC", "2026-03-08 02:30", Policy{}, "2026-03-08T02:30:00Z", Exact},
		{"Asia/Kathmandu", "2026-01-01 00:00", Policy{}, "2025-12-31T18:15:00Z", Exact},

		{"America/New_York", "2026-03-08 01:59:59", Policy{}, "2026-03-08T06:59:59Z", Exact},
		{"America/New_York", "2026-03-08 02:00", Policy{}, "2026-03-08T07:00:00Z", ShiftedForward},
		{"America/New_York", "2026-03-08 02:30", Policy{}, "2026-03-08T07:00:00Z", ShiftedForward},
		{"America/New_York", "2026-03-08 02:30", back, "2026-03-08T06:59:59Z", ShiftedBack},
		{"America/New_York", "2026-03-08 03:00", back, "2026-03-08T07:00:00Z", Exact},
		{"America/New_York", "2026-11-01 01:30", Policy{}, "2026-11-01T05:30:00Z", FirstOfTwo},
		{"America/New_York", "2026-11-01 01:30", second, "2026-11-01T06:30:00Z", SecondOfTwo},
		{"America/New_York", "2026-11-01 02:00", Policy{}, "2026-11-01T07:00:00Z", Exact},

		{"Europe/London", "2026-03-29 01:30", Policy{}, "2026-03-29T01:00:00Z", ShiftedForward},
		{"Europe/London", "2026-03-29 01:30", back, "2026-03-29T00:59:59Z", ShiftedBack},
		{"Europe/London", "2026-10-25 01:30", Policy{}, "2026-10-25T00:30:00Z", FirstOfTwo},
		{"Europe/London", "2026-10-25 01:30", second, "2026-10-25T01:30:00Z", SecondOfTwo},

		// Irish law calls winter the exception: its "daylight saving" is negative.
		{"Europe/Dublin", "2026-01-15 09:00", Policy{}, "2026-01-15T09:00:00Z", Exact},
		{"Europe/Dublin", "2026-07-15 09:00", Policy{}, "2026-07-15T08:00:00Z", Exact},
		{"Europe/Dublin", "2026-03-29 01:30", Policy{}, "2026-03-29T01:00:00Z", ShiftedForward},
		{"Europe/Dublin", "2026-10-25 01:30", second, "2026-10-25T01:30:00Z", SecondOfTwo},

		// Half an hour of summer time.
		{"Australia/Lord_Howe", "2026-10-04 02:15", Policy{}, "2026-10-03T15:30:00Z", ShiftedForward},
		{"Australia/Lord_Howe", "2026-10-04 02:30", Policy{}, "2026-10-03T15:30:00Z", Exact},
		{"Australia/Lord_Howe", "2026-04-05 01:45", Policy{}, "2026-04-04T14:45:00Z", FirstOfTwo},
		{"Australia/Lord_Howe", "2026-04-05 01:45", second, "2026-04-04T15:15:00Z", SecondOfTwo},

		// Days that were left out when the date line moved.
		{"Pacific/Apia", "2011-12-29 23:59:59", Policy{}, "2011-12-30T09:59:59Z", Exact},
		{"Pacific/Apia", "2011-12-30 09:00", Policy{}, "2011-12-30T10:00:00Z", ShiftedForward},
		{"Pacific/Apia", "2011-12-30 09:00", back, "2011-12-30T09:59:59Z", ShiftedBack},
		{"Pacific/Apia", "2011-12-31 00:00", Policy{}, "2011-12-30T10:00:00Z", Exact},
		{"Pacific/Kwajalein", "1993-08-21 12:00", Policy{}, "1993-08-21T12:00:00Z", ShiftedForward},

		// Midnight does not exist, or comes twice.
		{"America/Sao_Paulo", "2018-11-04 00:00", Policy{}, "2018-11-04T03:00:00Z", ShiftedForward},
		{"America/Sao_Paulo", "2018-11-04 00:30", back, "2018-11-04T02:59:59Z", ShiftedBack},
		{"America/Sao_Paulo", "2018-02-17 23:30", Policy{}, "2018-02-18T01:30:00Z", FirstOfTwo},
		{"America/Sao_Paulo", "2018-02-17 23:30", second, "2018-02-18T02:30:00Z", SecondOfTwo},
		{"Asia/Beirut", "2022-03-27 00:00", Policy{}, "2022-03-26T22:00:00Z", ShiftedForward},

		// Clocks go back for Ramadan and forward after it.
		{"Africa/Casablanca", "2024-03-10 02:30", second, "2024-03-10T02:30:00Z", SecondOfTwo},
		{"Africa/Casablanca", "2024-04-14 02:30", Policy{}, "2024-04-14T02:00:00Z", ShiftedForward},

		// Offsets with seconds: Liberia until 1972, and Paris until 1911.
		{"Africa/Monrovia", "1972-01-06 12:00", Policy{}, "1972-01-06T12:44:30Z", Exact},
		{"Africa/Monrovia", "1972-01-07 00:30", Policy{}, "1972-01-07T00:44:30Z", ShiftedForward},
		{"Europe/Paris", "1911-03-10 23:55", Policy{}, "1911-03-10T23:45:39Z", FirstOfTwo},
		{"Europe/Paris", "1911-03-10 23:55", second, "1911-03-10T23:55:00Z", SecondOfTwo},
	} {
		d, tod := parseLocal(t, c.local)
		got, how, err := Resolve(d, tod, zone(t, c.zone), c.policy)
		if err != nil {
			t.Errorf("%s %s: %v", c.zone, c.local, err)
			continue
		}
		if diff := cmp.Diff([]string{c.want, string(c.how)}, []string{got.Format(time.RFC3339), string(how)}); diff != "" {
			t.Errorf("%s %s %+v: %s", c.zone, c.local, c.policy, diff)
		}
	}
}

func parseLocal(t *testing.T, s string) (Date, TimeOfDay) {
	t.Helper()
	day, clock, _ := strings.Cut(s, " ")
	d, err := ParseDate(day)
	tod, errTime := ParseTimeOfDay(clock)
	if err := errors.Join(err, errTime); err != nil {
		t.Fatal(err)
	}
	return d, tod
}

// ZoneBounds contradicts itself on these days, and a search that trusts it
// never ends.
func TestTheLastDayOfALeapYearFarAheadResolves(t *testing.T) {
	t.Parallel()
	for _, year := range []int{2040, 2044, 2400, 9996} {
		got, how, err := Resolve(Date{year, time.December, 31}, TimeOfDay{Hour: 12}, zone(t, "Europe/Warsaw"), Policy{})
		want := time.Date(year, time.December, 31, 11, 0, 0, 0, time.UTC)
		if err != nil || how != Exact || !got.Equal(want) {
			t.Errorf("%d: got %v, %v, %v; want %v", year, got, how, err, want)
		}
	}
}

func TestTheFirstAndTheLastDayResolve(t *testing.T) {
	t.Parallel()
	for _, name := range trickyZones {
		for _, d := range []Date{{1, time.January, 1}, {9999, time.December, 31}} {
			got, how, err := Resolve(d, TimeOfDay{Hour: 12}, zone(t, name), Policy{})
			if err != nil || how != Exact || DateOf(got, zone(t, name)) != d {
				t.Errorf("%v in %s: got %v, %v, %v", d, name, got, how, err)
			}
		}
	}
}

func TestSkipGivesNoInstantAndAnErrorThatNamesTheTime(t *testing.T) {
	t.Parallel()
	skip := Policy{Gap: Skip}
	got, how, err := Resolve(Date{2026, time.March, 29}, TimeOfDay{Hour: 1, Minute: 30}, zone(t, "Europe/London"), skip)
	if !got.IsZero() || how != Skipped || !errors.Is(err, ErrSkipped) {
		t.Fatalf("got %v, %v, %v", got, how, err)
	}
	if !strings.HasPrefix(err.Error(), "2026-03-29 01:30 in Europe/London: ") {
		t.Errorf("error %q does not say which time it skips", err)
	}
	if _, how, err := Resolve(Date{2026, time.March, 30}, TimeOfDay{}, zone(t, "Europe/London"), skip); how != Exact || err != nil {
		t.Errorf("a time that exists was resolved as %v, %v", how, err)
	}
}

func TestResolveRefusesBadInputAndNamesIt(t *testing.T) {
	t.Parallel()
	day, london := Date{2026, time.March, 1}, zone(t, "Europe/London")
	for _, c := range []struct {
		d      Date
		tod    TimeOfDay
		loc    *time.Location
		policy Policy
		want   string
	}{
		{Date{2026, time.February, 30}, TimeOfDay{}, london, Policy{}, "2026-02-30"},
		{Date{}, TimeOfDay{}, london, Policy{}, "0000-00-00"},
		{day, TimeOfDay{Hour: 24}, london, Policy{}, "24:00"},
		{day, TimeOfDay{Minute: -1}, london, Policy{}, "time of day"},
		{day, TimeOfDay{}, nil, Policy{}, "no time zone"},
		{day, TimeOfDay{}, london, Policy{Gap: "forwards"}, `"forwards"`},
		{day, TimeOfDay{}, london, Policy{Overlap: "last"}, `"last"`},
		{day, TimeOfDay{}, time.FixedZone("Far", 30*3600), Policy{}, "zone Far is more than a day from UTC"},
	} {
		got, how, err := Resolve(c.d, c.tod, c.loc, c.policy)
		if err == nil || !strings.Contains(err.Error(), c.want) || !got.IsZero() || how != "" {
			t.Errorf("Resolve(%v, %v, %v, %v) = %v, %q, %v; want an error with %q", c.d, c.tod, c.loc, c.policy, got, how, err, c.want)
		}
	}
}

func TestTheZeroPolicyIsForwardAndFirst(t *testing.T) {
	t.Parallel()
	named := Policy{Gap: ShiftForward, Overlap: First}
	for _, local := range []string{"2026-03-29 01:30", "2026-10-25 01:30"} {
		d, tod := parseLocal(t, local)
		want, wantHow, _ := Resolve(d, tod, zone(t, "Europe/London"), named)
		got, how, err := Resolve(d, tod, zone(t, "Europe/London"), Policy{})
		if err != nil || !got.Equal(want) || how != wantHow {
			t.Errorf("%s: got %v, %v, %v; want %v, %v", local, got, how, err, want, wantHow)
		}
	}
}

// No real zone changed its clocks twice within four days, so this one is made
// by hand: a change of name only at 1000, then two jumps.
func TestTheJumpIsTheOneThatPassesOverTheReading(t *testing.T) {
	t.Parallel()
	stretches := []stretch{{0, 1000, 0}, {1000, 2000, 0}, {2000, 5000, 100}, {5000, 8000, 300}}
	for reading, want := range map[int64]int64{2000: 2000, 2099: 2000, 5100: 5000, 5299: 5000} {
		if got, found := jumpOver(reading, stretches); !found || got != want {
			t.Errorf("%d is jumped over at %d (%v), want %d", reading, got, found, want)
		}
	}
	for _, reading := range []int64{999, 1000, 1999, 2100, 5099, 5300} {
		if got, found := jumpOver(reading, stretches); found {
			t.Errorf("%d was shown, and yet jumped over at %d", reading, got)
		}
	}
}
