package civil

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseDateRefusesOtherFormsAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "2026", "2026-1-02", "26-01-02", "2026/01/02", " 2026-01-02", "2026-01-02 ",
		"2026-01-02T00:00:00Z", "-026-01-02", "+026-01-02", "2026-01-0x", "12026-01-02",
		"\u0662026-01-2", strings.Repeat("9", 1000),
	} {
		d, err := ParseDate(s)
		if err == nil || !strings.Contains(err.Error(), "YYYY-MM-DD") || len(err.Error()) > 200 {
			t.Errorf("ParseDate(%q) = %v, error %v; want a short error that names the form", s, d, err)
		}
	}
}

func TestParseDateRefusesDatesThatDoNotExist(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"0000-00-00", "0000-01-01", "2026-00-10", "2026-13-01", "2026-01-00", "2026-01-32",
		"2026-02-29", "2026-02-30", "2026-04-31", "1900-02-29", "2100-02-29",
	} {
		_, err := ParseDate(s)
		if err == nil || !strings.Contains(err.Error(), s) || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("ParseDate(%q): error %v; want one that says it does not exist", s, err)
		}
	}
	for _, s := range []string{"0001-01-01", "2000-02-29", "2024-02-29", "9999-12-31"} {
		if d, err := ParseDate(s); err != nil || d.String() != s {
			t.Errorf("ParseDate(%q) = %v, %v", s, d, err)
		}
	}
}

// The calendar is walked by the rules that people learn at school, without
// package time.
func TestArithmeticAgreesWithTheCalendarOfTenThousandYears(t *testing.T) {
	t.Parallel()
	origin := Date{1, time.January, 1}
	elapsed := 0
	for year := 1; year <= 9999; year++ {
		for month := time.January; month <= time.December; month++ {
			first := Date{year, month, 1}
			last := Date{year, month, daysIn(year, month)}
			after := Date{year, month, last.Day + 1}
			elapsedAtLast := elapsed + last.Day - 1
			if !first.Valid() || !last.Valid() || after.Valid() {
				t.Fatalf("%v and %v must be valid, and %v not", first, last, after)
			}
			if n := origin.DaysUntil(last); n != elapsedAtLast {
				t.Fatalf("%v is %d days after %v, want %d", last, n, origin, elapsedAtLast)
			}
			if got := origin.AddDays(elapsed); got != first {
				t.Fatalf("%v plus %d days is %v, want %v", origin, elapsed, got, first)
			}
			if want := time.Weekday((elapsed + 1) % 7); first.Weekday() != want { // 0001-01-01 was a Monday
				t.Fatalf("%v is a %v, want %v", first, first.Weekday(), want)
			}
			elapsed += last.Day
		}
	}
}

func daysIn(year int, month time.Month) int {
	switch month {
	case time.April, time.June, time.September, time.November:
		return 30
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func TestDateProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genDate().Draw(t, "a"), genDate().Draw(t, "b")
		n := a.DaysUntil(b)
		if got := a.AddDays(n); got != b {
			t.Fatalf("%v plus %d days is %v, want %v", a, n, got, b)
		}
		if got := b.DaysUntil(a); got != -n {
			t.Fatalf("%v to %v is %d days, and back %d", a, b, n, got)
		}
		if a.Before(b) != (n > 0) || a.After(b) != (n < 0) || (a == b) != (a.Compare(b) == 0) {
			t.Fatalf("the order of %v and %v contradicts their distance %d", a, b, n)
		}
		if back, err := ParseDate(a.String()); err != nil || back != a {
			t.Fatalf("%v parses back as %v, %v", a, back, err)
		}
	})
}

func genDate() *rapid.Generator[Date] {
	return rapid.Custom(func(t *rapid.T) Date {
		return Date{1, time.January, 1}.AddDays(rapid.IntRange(0, maxDays).Draw(t, "day"))
	})
}

func TestAddDaysNeverLeavesTheYearsOneTo9999(t *testing.T) {
	t.Parallel()
	first, last := Date{1, time.January, 1}, Date{9999, time.December, 31}
	const huge = int(^uint(0) >> 1)
	for _, got := range []Date{
		first.AddDays(-1), last.AddDays(1), first.AddDays(huge), first.AddDays(-huge - 1),
		last.AddDays(huge), Date{}.AddDays(1), Date{2026, time.February, 30}.AddDays(0),
	} {
		if !got.IsZero() {
			t.Errorf("got %v, want the zero Date", got)
		}
	}
	if got := first.AddDays(maxDays); got != last {
		t.Errorf("%v plus %d days is %v, want %v", first, maxDays, got, last)
	}
}

func TestDateOfIsTheDateOnTheCalendarOfThatZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.January, 1, 4, 0, 0, 0, time.UTC)
	got := []Date{DateOf(at, time.UTC), DateOf(at, zone(t, "America/New_York")), DateOf(at, zone(t, "Pacific/Apia"))}
	want := []Date{{2026, time.January, 1}, {2025, time.December, 31}, {2026, time.January, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDateTravelsThroughJSON(t *testing.T) {
	t.Parallel()
	type certificate struct {
		Expires Date
		Renewed Date
		ByDay   map[Date]int
	}
	day := Date{2026, time.March, 1}
	want := certificate{Expires: day, ByDay: map[Date]int{day: 1}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"Expires":"2026-03-01","Renewed":"","ByDay":{"2026-03-01":1}}`, string(text)); diff != "" {
		t.Error(diff)
	}
	got := certificate{Renewed: day}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTextThatIsNoDateIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	before := Date{2026, time.March, 1}
	d := before
	if err := d.UnmarshalText([]byte("2026-02-30")); err == nil || d != before {
		t.Errorf("UnmarshalText left %v with error %v, want %v and an error", d, err, before)
	}
	if text, err := (Date{2026, time.February, 30}).MarshalText(); err == nil {
		t.Errorf("MarshalText wrote %q for a date that does not exist", text)
	}
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2026-03-08", "2024-02-29", "2026-02-30", "0000-01-01", "2026-3-8", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDate(s)
		if err != nil {
			if !d.IsZero() {
				t.Errorf("ParseDate(%q) = %v besides error %v", s, d, err)
			}
			return
		}
		if !d.Valid() || d.String() != s {
			t.Errorf("ParseDate(%q) = %v, valid %v", s, d, d.Valid())
		}
	})
}
