package recur

import (
	"time"

	"github.com/teambition/rrule-go"
)

// rruleAfter asks a rule of its own: the library's remember how far they came.
func rruleAfter(o rrule.ROption, after time.Time) (time.Time, bool) {
	o.Dtstart = nearer(o, after)
	r, err := rrule.NewRRule(o)
	if err != nil {
		return time.Time{}, false
	}
	next := r.After(after, false)
	return next, !next.IsZero()
}

// nearer moves the beginning of a rule towards after, by whole intervals, since
// the library walks over every occurrence from there. It stays two intervals
// before, so that a first week which is not whole does not count. Rules with a
// COUNT are walked, and months and years are few.
func nearer(o rrule.ROption, after time.Time) time.Time {
	step := map[rrule.Frequency]time.Duration{
		rrule.WEEKLY: 7 * 24 * time.Hour, rrule.DAILY: 24 * time.Hour, rrule.HOURLY: time.Hour, rrule.MINUTELY: time.Minute,
	}[o.Freq] * time.Duration(max(o.Interval, 1))
	if step == 0 || o.Count > 0 {
		return o.Dtstart
	}
	steps := after.Sub(o.Dtstart)/step - 2
	if steps <= 0 {
		return o.Dtstart
	}
	return o.Dtstart.Add(steps * step)
}
