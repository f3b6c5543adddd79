package settings

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
)

// Calendar says on which days a business unit works, and what becomes of a
// reminder that falls on another day. The zero value works every day.
type Calendar struct {
	// Weekend are the days of the week on which nobody works; Sunday is 0.
	Weekend []time.Weekday `json:"weekend,omitempty"`
	// Holidays are single dates on which nobody works.
	Holidays []automation.Date `json:"holidays,omitempty"`
	// Shift moves reminders off such days; empty leaves them.
	Shift Shift `json:"shift,omitempty"`
}

// Shift says where a reminder goes that falls on a day without work. The key of
// its row stays, so a calendar that changes moves rows in place.
type Shift string

// The shifts.
const (
	ShiftNone     Shift = ""
	ShiftNext     Shift = "next"     // to the next business day
	ShiftPrevious Shift = "previous" // to the previous one
)

// maxHolidays is twenty years of a generous calendar.
const maxHolidays = 1000

// IsBusinessDay reports whether somebody works on d, which must be valid.
func (c Calendar) IsBusinessDay(d automation.Date) bool {
	return !slices.Contains(c.Weekend, d.Weekday()) && !slices.Contains(c.Holidays, d)
}

// Move returns the day to which the calendar moves a reminder that falls on d. A
// calendar without any business day, or one that leads out of the years 1 to
// 9999, gives the zero Date.
func (c Calendar) Move(d automation.Date) automation.Date {
	step := 0
	switch c.Shift {
	case ShiftNext:
		step = 1
	case ShiftPrevious:
		step = -1
	}
	// One day a week is for work, and each holiday takes a week at most.
	for range 7 * (1 + len(c.Holidays)) {
		if step == 0 || d.IsZero() || c.IsBusinessDay(d) {
			return d
		}
		d = d.AddDays(step)
	}
	return automation.Date{}
}

func (f *faults) calendar(c Calendar) {
	for i, day := range c.Weekend {
		if day < time.Sunday || day > time.Saturday {
			f.Add(fmt.Sprintf("Calendar.Weekend[%d]", i), "%d is not from 0 (Sunday) to 6 (Saturday)", int(day))
		}
	}
	list(f, "Calendar.Weekend", c.Weekend, 6)
	for i, day := range c.Holidays {
		if !day.Valid() {
			f.Add(fmt.Sprintf("Calendar.Holidays[%d]", i), "%s does not exist", day)
		}
	}
	list(f, "Calendar.Holidays", c.Holidays, maxHolidays)
	switch c.Shift {
	case ShiftNone, ShiftNext, ShiftPrevious:
	default:
		f.Add("Calendar.Shift", "%.40q is not one of next, previous, or empty", string(c.Shift))
	}
}
