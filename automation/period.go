package automation

import (
	"time"

	"github.com/belfry-go/belfry/internal/recur"
)

// period is what an occurrence stands for, whatever its time of day: the local date
// that the cadence names, 2006-01-02, and where it has several a day, the time as well.
func period(line recur.Timeline, o recur.Occurrence) string {
	date := localDate(o).String()
	if line.Cadence.SeveralADay() {
		return date + "T" + localTime(o).String()
	}
	return date
}

// after is the first occurrence later than t whose period is not past: a time of day
// that moves later, or a zone that does, makes no second one.
func (d *series) after(line recur.Timeline, t time.Time) (recur.Occurrence, bool) {
	o, ok := line.After(t)
	for ok && period(line, o) == d.PastPeriod {
		o, ok = line.After(o.On)
	}
	return o, ok
}

// afterCurrent is after, when the current occurrence is past.
func (d *series) afterCurrent(line recur.Timeline, t time.Time) (recur.Occurrence, bool) {
	gone := *d
	gone.PastPeriod = d.NextPeriod
	return gone.after(line, t)
}

// moveTo makes o the current occurrence; without one the series has ended.
func (d *series) moveTo(line recur.Timeline, o recur.Occurrence, ok bool) {
	d.Active, d.NextOn, d.NextLocalDate, d.NextLocalTime, d.NextPeriod = ok, time.Time{}, "", "", ""
	if ok {
		d.NextOn, d.NextLocalDate, d.NextLocalTime, d.NextPeriod = o.On, localDate(o).String(), localTime(o).String(), period(line, o)
	}
}

// moveAfter makes the first occurrence later than t the current one.
func (d *series) moveAfter(line recur.Timeline, t time.Time) {
	o, ok := d.after(line, t)
	d.moveTo(line, o, ok)
}
