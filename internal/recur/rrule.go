package recur

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/belfry-go/belfry/internal/civil"
)

// maxCount and maxInterval bound the numbers of a rule: to find the n-th
// occurrence the library walks over those before it.
const (
	maxCount    = 10000
	maxInterval = 10000
)

// parseRRule checks the value of an RRULE more strictly than the library, which
// loops for ever, panics or silently drops parts on some rules, and returns it
// in capitals.
func parseRRule(s Spec) (string, func(time.Time) (time.Time, bool), error) {
	text := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s.RRule)), "RRULE:")
	refuse := func(err error) (string, func(time.Time) (time.Time, bool), error) {
		return "", nil, fmt.Errorf("RRULE %.*q: %w", maxText, s.RRule, err)
	}
	if err := checkParts(text); err != nil {
		return refuse(err)
	}
	o, err := rrule.StrToROption(text)
	if err != nil {
		return refuse(err)
	}
	o.Dtstart = floating(s.Start, s.At)
	if !o.Until.IsZero() && !strings.Contains(until(text), "T") {
		o.Until = o.Until.Add(24*time.Hour - time.Second) // the whole day
	}
	tidy(o)
	for _, check := range []func(*rrule.ROption) error{checkNumbers, checkWeekdays, checkPeriods, checkReach} {
		if err := check(o); err != nil {
			return refuse(err)
		}
	}
	if _, err := rrule.NewRRule(*o); err != nil {
		return refuse(err)
	}
	return text, func(after time.Time) (time.Time, bool) { return rruleAfter(*o, after) }, nil
}

// NamesTime reports whether an RRULE says itself at what time of day, or runs
// through the hours.
func NamesTime(rule string) bool {
	rule = ";" + strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(rule)), "RRULE:")
	for _, part := range []string{";BYHOUR=", ";FREQ=HOURLY", ";FREQ=MINUTELY"} {
		if strings.Contains(rule, part) {
			return true
		}
	}
	return false
}

// checkParts looks at the names of the parts.
func checkParts(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("longer than %d bytes", maxText)
	}
	if strings.ContainsAny(text, "\r\n") || strings.Contains(text, "DTSTART") || strings.Contains(text, "TZID") {
		return errors.New("one rule is wanted, without DTSTART and TZID: Start and the zone are given beside it")
	}
	seen := map[string]bool{}
	for _, p := range strings.Split(text, ";") {
		name, value, _ := strings.Cut(p, "=")
		switch {
		case seen[name]:
			return fmt.Errorf("%s twice", name)
		case name == "BYEASTER":
			return errors.New("BYEASTER is not part of RFC 5545")
		case name == "UNTIL" && strings.HasSuffix(value, "Z"):
			return errors.New("UNTIL in UTC: it is local like the rest, so leave out the Z")
		case name == "COUNT" && strings.Trim(value, "0") == "":
			return errors.New("COUNT=0")
		case name == "INTERVAL" && strings.Trim(value, "0") == "":
			return errors.New("INTERVAL=0")
		}
		seen[name] = true
	}
	if seen["COUNT"] && seen["UNTIL"] {
		return errors.New("COUNT and UNTIL exclude each other")
	}
	return nil
}

// until is the value of UNTIL, as it was written.
func until(text string) string {
	_, after, _ := strings.Cut(text, "UNTIL=")
	value, _, _ := strings.Cut(after, ";")
	return value
}

// tidy sorts the lists and drops repetitions, which the library would count as
// occurrences of their own.
func tidy(o *rrule.ROption) {
	for _, list := range []*[]int{
		&o.Bysetpos, &o.Bymonth, &o.Bymonthday, &o.Byyearday, &o.Byweekno, &o.Byhour, &o.Byminute, &o.Bysecond,
	} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	seen := map[rrule.Weekday]bool{}
	o.Byweekday = slices.DeleteFunc(o.Byweekday, func(d rrule.Weekday) bool {
		again := seen[d]
		seen[d] = true
		return again
	})
}

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
