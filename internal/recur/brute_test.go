package recur

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/internal/civil"
)

// column is a cron field as text, and what it means by another way of reading.
type column struct {
	text  string
	holds [60]bool
	star  bool // the text begins with a star
}

func newColumn(text string, holds func(n int) bool) column {
	c := column{text: text, star: text[0] == '*'}
	for n := range c.holds {
		c.holds[n] = holds(n)
	}
	return c
}

// genColumn draws stars, steps, ranges and lists of a field.
func genColumn(from, to int, rarely bool) *rapid.Generator[column] {
	return rapid.Custom(func(t *rapid.T) column {
		n := rapid.IntRange(from, to)
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		switch {
		case kind <= 1 || rarely && kind <= 4:
			return newColumn("*", func(int) bool { return true })
		case kind == 2:
			step := rapid.IntRange(1, to).Draw(t, "step")
			return newColumn(fmt.Sprintf("*/%d", step), func(x int) bool { return (x-from)%step == 0 })
		case kind == 3 || kind == 4:
			a, b := n.Draw(t, "a"), n.Draw(t, "b")
			a, b = min(a, b), max(a, b)
			step := rapid.IntRange(1, 5).Draw(t, "step")
			return newColumn(fmt.Sprintf("%d-%d/%d", a, b, step), func(x int) bool { return a <= x && x <= b && (x-a)%step == 0 })
		}
		list := rapid.SliceOfN(n, 1, 3).Draw(t, "list")
		var texts []string
		for _, x := range list {
			texts = append(texts, strconv.Itoa(x))
		}
		return newColumn(strings.Join(texts, ","), func(x int) bool { return slices.Contains(list, x) })
	})
}

// cron is an expression with a matcher that knows nothing of the library.
type cron struct {
	text string
	due  func(local time.Time) bool
}

func genCron() *rapid.Generator[cron] {
	return rapid.Custom(func(t *rapid.T) cron {
		minute, hour := genColumn(0, 59, false).Draw(t, "minute"), genColumn(0, 23, false).Draw(t, "hour")
		day, month := genColumn(1, 31, true).Draw(t, "day"), genColumn(1, 12, true).Draw(t, "month")
		weekday := genColumn(0, 6, true).Draw(t, "weekday")
		return cron{
			text: strings.Join([]string{minute.text, hour.text, day.text, month.text, weekday.text}, " "),
			due: func(local time.Time) bool {
				if !minute.holds[local.Minute()] || !hour.holds[local.Hour()] || !month.holds[local.Month()] {
					return false
				}
				d, w := day.holds[local.Day()], weekday.holds[local.Weekday()]
				if day.star || weekday.star {
					return d && w
				}
				return d || w
			},
		}
	})
}

// brute lists the first occurrences in [from, to) minute by minute: it lets the
// clocks of a zone run and notes when they show each reading.
func brute(due func(time.Time) bool, loc *time.Location, p civil.Policy, from, to time.Time) []time.Time {
	var found []time.Time
	add := func(on time.Time) {
		if len(found) == 0 || on.After(found[len(found)-1]) {
			found = append(found, on)
		}
	}
	offset := func(on time.Time) time.Duration {
		_, seconds := on.In(loc).Zone()
		return time.Duration(seconds) * time.Second
	}
	var change time.Time
	now := offset(from)
	for on := from; on.Before(to) && len(found) < most; on = on.Add(time.Minute) {
		before := now
		if !on.Before(change) {
			now = offset(on)
			_, change = on.In(loc).ZoneBounds()
			if change.IsZero() || !change.After(on) {
				change = on.Add(time.Minute)
			}
		}
		if jump := now - before; jump > 0 { // readings that never come
			for gone := on.Add(before); gone.Before(on.Add(now)); gone = gone.Add(time.Minute) {
				if due(gone) && p.Gap == civil.ShiftBack {
					add(on.Add(-time.Second))
				} else if due(gone) && p.Gap != civil.Skip {
					add(on)
				}
			}
		}
		reading := on.Add(now)
		if !due(reading) || !meant(on, reading, p, offset) {
			continue
		}
		add(on)
	}
	return found
}

// meant reports whether the policy takes this pass of a reading: no other
// instant of the day before or behind shows it, or it is the right one.
func meant(on, reading time.Time, p civil.Policy, offset func(time.Time) time.Duration) bool {
	for _, other := range []time.Time{reading.Add(-offset(on.Add(-26 * time.Hour))), reading.Add(-offset(on.Add(26 * time.Hour)))} {
		if other.Equal(on) || !other.Add(offset(other)).Equal(reading) {
			continue
		}
		if second := on.After(other); second != (p.Overlap == civil.Second) {
			return false
		}
	}
	return true
}

// zonesOfMinutes change their clocks by an hour, half an hour and a day.
var zonesOfMinutes = []string{
	"America/New_York", "Europe/London", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana", "Africa/Cairo",
	"Asia/Tehran", "America/Santiago", "Asia/Beirut", "Antarctica/Troll", "UTC", "Asia/Kathmandu",
}

// most is how many occurrences are compared: of a dense cadence those around one
// change of clocks, of others all of two years.
const most = 700

// genBegin draws a new year, or half a day before clocks change.
func genBegin(loc *time.Location) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		from := time.Date(rapid.IntRange(2008, 2030).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
		if rapid.Bool().Draw(t, "new year") {
			return from
		}
		for range rapid.IntRange(1, 2).Draw(t, "changes") {
			if _, change := from.In(loc).ZoneBounds(); change.After(from) {
				from = change.UTC()
			}
		}
		return from.Add(-12 * time.Hour).Truncate(time.Minute)
	})
}

func zone(t rapid.TB, name string) *time.Location {
	t.Helper()
	loc, err := civil.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestAChainIsWhatTheClocksShowMinuteByMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := genCron().Draw(t, "cron")
		loc := zone(t, rapid.SampledFrom(zonesOfMinutes).Draw(t, "zone"))
		p := civil.Policy{
			Gap:     rapid.SampledFrom([]civil.GapPolicy{civil.ShiftForward, civil.ShiftBack, civil.Skip}).Draw(t, "gap"),
			Overlap: rapid.SampledFrom([]civil.OverlapPolicy{civil.First, civil.Second}).Draw(t, "overlap"),
		}
		from := genBegin(loc).Draw(t, "from")
		to := from.AddDate(2, 0, 0)
		want := brute(c.due, loc, p, from, to)
		want = want[:min(len(want), most)]
		cadence, err := Parse(Spec{Cron: c.text})
		if err != nil {
			if len(want) > 0 {
				t.Fatalf("%s: %v", c.text, err)
			}
			return
		}
		var got []time.Time
		for _, o := range (Timeline{cadence, loc, p}).Preview(from.Add(-2*time.Second), len(want)+1) {
			if o.On.Before(to) && len(got) < most {
				got = append(got, o.On)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s", c.text, diff)
		}
	})
}
