package recur

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/belfry-go/belfry/internal/civil"
)

func checkNumbers(o *rrule.ROption) error {
	switch {
	case o.Freq == rrule.SECONDLY:
		return errors.New("FREQ=SECONDLY: every minute is the most")
	case len(o.Bysecond) > 1:
		return errors.New("several BYSECOND: every minute is the most")
	case o.Interval < 0 || o.Interval > maxInterval:
		return fmt.Errorf("INTERVAL is not from 1 to %d", maxInterval)
	case o.Count < 0 || o.Count > maxCount:
		return fmt.Errorf("COUNT is not from 1 to %d", maxCount)
	case slices.Contains(o.Bymonthday, 0), slices.Contains(o.Byyearday, 0), slices.Contains(o.Bysetpos, 0), slices.Contains(o.Byweekno, 0):
		return errors.New("a zero among days, weeks or positions")
	case !o.Until.IsZero() && o.Until.Before(floating(civil.DateOf(o.Dtstart, time.UTC), civil.TimeOfDay{})):
		return errors.New("UNTIL is before Start")
	}
	return nil
}

// checkWeekdays refuses numbers before a weekday that no period has; on some of
// them the library panics.
func checkWeekdays(o *rrule.ROption) error {
	for _, d := range o.Byweekday {
		n := max(d.N(), -d.N())
		switch {
		case n == 0:
		case o.Freq > rrule.MONTHLY || len(o.Byweekno) > 0:
			return fmt.Errorf("BYDAY=%s: a number is for months and years", d)
		case n > 5 && (o.Freq == rrule.MONTHLY || len(o.Bymonth) > 0):
			return fmt.Errorf("BYDAY=%s: no month has so many", d)
		}
	}
	return nil
}

// checkPeriods refuses what RFC 5545 excludes, and BYSETPOS within an hour or a
// minute, where a position that does not exist would be searched for ever.
func checkPeriods(o *rrule.ROption) error {
	switch {
	case len(o.Byweekno) > 0 && o.Freq != rrule.YEARLY:
		return errors.New("BYWEEKNO is for FREQ=YEARLY")
	case len(o.Byyearday) > 0 && (o.Freq == rrule.MONTHLY || o.Freq == rrule.WEEKLY || o.Freq == rrule.DAILY):
		return fmt.Errorf("BYYEARDAY is not for FREQ=%v", o.Freq)
	case len(o.Bymonthday) > 0 && o.Freq == rrule.WEEKLY:
		return errors.New("BYMONTHDAY is not for FREQ=WEEKLY")
	case len(o.Bysetpos) > 0 && o.Freq >= rrule.HOURLY:
		return fmt.Errorf("BYSETPOS is not for FREQ=%v", o.Freq)
	}
	return nil
}

// checkReach refuses hours and minutes that the interval never comes to, and
// days that no year has: the library would look for the ones for ever, and for
// the others through all minutes until the year 9999.
func checkReach(o *rrule.ROption) error {
	minutes := max(o.Interval, 1) // of one step
	switch o.Freq {
	case rrule.HOURLY:
		minutes *= 60
	case rrule.MINUTELY:
	default:
		return nil
	}
	limited := len(o.Bymonth)+len(o.Bymonthday)+len(o.Byyearday)+len(o.Byweekday)+len(o.Byhour)+len(o.Byminute) > 0
	switch {
	case limited && minutesOfDay%minutes != 0:
		return fmt.Errorf("INTERVAL=%d does not divide a day, so no other part but COUNT and UNTIL goes with it", o.Interval)
	case !someDay(*o):
		return errors.New("no year has such a day")
	case !reached(o, minutes):
		return fmt.Errorf("the interval never comes to BYHOUR and BYMINUTE from %s on", o.Dtstart.Format("15:04"))
	}
	return nil
}

const minutesOfDay = 24 * 60

// someDay reports whether a day comes that the rule is about.
func someDay(o rrule.ROption) bool {
	o.Freq, o.Interval, o.Count, o.Until = rrule.DAILY, 1, 0, time.Time{}
	o.Byhour, o.Byminute, o.Bysecond = nil, nil, nil
	_, some := rruleAfter(o, o.Dtstart.Add(-time.Second))
	return some
}

func reached(o *rrule.ROption, minutes int) bool {
	at := o.Dtstart.Hour()*60 + o.Dtstart.Minute()
	for range minutesOfDay {
		hour := len(o.Byhour) == 0 || slices.Contains(o.Byhour, at/60)
		if hour && (o.Freq == rrule.HOURLY || len(o.Byminute) == 0 || slices.Contains(o.Byminute, at%60)) {
			return true
		}
		at = (at + minutes) % minutesOfDay
	}
	return false
}
