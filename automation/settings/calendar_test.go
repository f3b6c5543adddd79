package settings_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
)

func TestACalendarMovesToTheNearestBusinessDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		origin := automation.Date{Year: 2026, Month: 1, Day: 1}
		c := settings.Calendar{
			Weekend: rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 6), func(n int) time.Weekday { return time.Weekday(n) }), 0, 6, rapid.ID).Draw(t, "weekend"),
			Shift:   rapid.SampledFrom([]settings.Shift{settings.ShiftNone, settings.ShiftNext, settings.ShiftPrevious}).Draw(t, "shift"),
		}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 40).Draw(t, "holidays") {
			c.Holidays = append(c.Holidays, origin.AddDays(n))
		}
		d := origin.AddDays(rapid.IntRange(0, 60).Draw(t, "day"))
		got := c.Move(d)
		step := map[settings.Shift]int{settings.ShiftNext: 1, settings.ShiftPrevious: -1}[c.Shift]
		switch {
		case step == 0:
			if got != d {
				t.Fatalf("%v was moved to %v", d, got)
			}
			return
		case !got.Valid() || !c.IsBusinessDay(got) || d.DaysUntil(got)*step < 0:
			t.Fatalf("%v was moved to %v", d, got)
		}
		for between := d; between != got; between = between.AddDays(step) {
			if c.IsBusinessDay(between) {
				t.Fatalf("%v is a business day before %v", between, got)
			}
		}
	})
}

// One day of the week is for work, and many of those are holidays.
func TestACalendarLooksBeyondManyHolidays(t *testing.T) {
	t.Parallel()
	c := settings.Calendar{Weekend: []time.Weekday{0, 1, 2, 3, 4, 6}, Shift: settings.ShiftPrevious}
	for n := range 20 {
		c.Holidays = append(c.Holidays, firstOfMay.AddDays(-7*n))
	}
	for n := range 7 { // the worst begins a day before a holiday
		if got, want := c.Move(firstOfMay.AddDays(n)), firstOfMay.AddDays(-140); got != want {
			t.Errorf("%d days later: %v, want %v", n, got, want)
		}
	}
}

func TestACalendarWithoutBusinessDaysGivesNone(t *testing.T) {
	t.Parallel()
	never := settings.Calendar{Weekend: []time.Weekday{0, 1, 2, 3, 4, 5, 6}, Shift: settings.ShiftNext}
	last := automation.Date{Year: 9999, Month: 12, Day: 31} // a Friday
	edge := settings.Calendar{Weekend: []time.Weekday{time.Friday}, Shift: settings.ShiftNext}
	if a, b := never.Move(firstOfMay), edge.Move(last); !a.IsZero() || !b.IsZero() {
		t.Error(a, b)
	}
}
