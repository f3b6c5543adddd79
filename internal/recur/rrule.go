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

// maxCount and maxInterval bound the numbers of a rule, and countYears how long a COUNT
// takes: to find the n-th occurrence the library walks over those before it. maxTimes bounds
// the times of a day where it spells out a week, a month or a year at once.
const (
	maxCount    = 10000
	maxInterval = 10000
	countYears  = 100
	maxTimes    = 100
)

// parseRRule checks the value of an RRULE more strictly than the library, which
// loops for ever, panics or silently drops parts on some rules. The cadence has it
// in capitals.
func parseRRule(s Spec) (*Cadence, error) {
	text := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s.RRule)), "RRULE:")
	text = strings.TrimSuffix(text, ";") // some calendars end with one
	refuse := func(err error) (*Cadence, error) { return nil, fmt.Errorf("RRULE %.*q: %w", maxText, s.RRule, err) }
	if err := checkParts(text); err != nil {
		return refuse(err)
	}
	o, err := rrule.StrToROption(text)
	if err != nil {
		return refuse(err)
	}
	o.Dtstart = floating(s.Start, s.At)
	last := readUntil(o, text)
	tidy(o)
	weekOfStart(o)
	for _, check := range []func(*rrule.ROption) error{checkNumbers, checkWeekdays, checkPeriods, checkPositions, checkReach, checkCount} {
		if err := check(o); err != nil {
			return refuse(err)
		}
	}
	if _, err := rrule.NewRRule(*o); err != nil {
		return refuse(err)
	}
	wholeWeeks(o)
	s.RRule = text
	before := floating(s.Start, s.At).Add(-time.Second)
	return &Cadence{spec: s, last: last, next: func(after time.Time) (time.Time, bool) {
		if after.Before(before) {
			after = before
		}
		return rruleAfter(*o, after)
	}}, nil
}

// readUntil extends an UNTIL without a time to its whole day. One in UTC, which RFC 5545
// wants beside a zone, is the last instant: the rule itself goes on as far as any zone
// may be behind it.
func readUntil(o *rrule.ROption, text string) (last time.Time) {
	const day = 24 * time.Hour
	switch value := until(text); {
	case o.Until.IsZero():
	case !strings.Contains(value, "T"):
		o.Until = o.Until.Add(day - time.Second)
	case strings.HasSuffix(value, "Z"):
		last = o.Until
		o.Until = o.Until.Add(day)
	}
	return last
}

// weekOfStart gives a rule of numbered weeks that names no days the weekday of its start,
// as RFC 5545 says. The library takes all seven.
func weekOfStart(o *rrule.ROption) {
	if len(o.Byweekno) > 0 && len(o.Byweekday)+len(o.Bymonthday)+len(o.Byyearday) == 0 {
		o.Byweekday = []rrule.Weekday{weekdays[o.Dtstart.Weekday()]}
	}
}

var weekdays = []rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}

// wholeWeeks lets a weekly BYSETPOS count from the first day of the week in which the
// rule begins, as those of months and years do. A COUNT grows by what comes before the start.
func wholeWeeks(o *rrule.ROption) {
	if o.Freq != rrule.WEEKLY || len(o.Bysetpos) == 0 {
		return
	}
	start := o.Dtstart
	if len(o.Byweekday) == 0 {
		o.Byweekday = []rrule.Weekday{weekdays[start.Weekday()]}
	}
	monday := (int(start.Weekday()) + 6) % 7 // the library's days begin with Monday
	o.Dtstart = start.AddDate(0, 0, -(monday-o.Wkst.Day()+7)%7)
	if o.Count == 0 {
		return
	}
	endless := *o
	endless.Count = 0
	rule := walk(endless)
	for on, ok := rule(); ok && on.Before(start); on, ok = rule() {
		o.Count++
	}
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
		return errors.New("give one rule without DTSTART and TZID; Start and the zone are separate fields")
	}
	seen := map[string]bool{}
	for _, p := range strings.Split(text, ";") {
		name, value, _ := strings.Cut(p, "=")
		switch {
		case p == "":
			return errors.New("an empty part")
		case seen[name]:
			return fmt.Errorf("%s twice", name)
		case name == "BYEASTER":
			return errors.New("BYEASTER is not part of RFC 5545")
		case name == "COUNT" && strings.Trim(value, "0") == "":
			return errors.New("COUNT=0")
		case name == "INTERVAL" && strings.Trim(value, "0") == "":
			return errors.New("INTERVAL=0")
		}
		seen[name] = true
	}
	if seen["COUNT"] && seen["UNTIL"] {
		return errors.New("COUNT and UNTIL cannot be combined")
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
		return errors.New("FREQ=SECONDLY: the shortest interval is a minute")
	case len(o.Bysecond) > 1:
		return errors.New("several BYSECOND: the shortest interval is a minute")
	case o.Interval < 0 || o.Interval > maxInterval:
		return fmt.Errorf("INTERVAL must be 1 to %d", maxInterval)
	case o.Count < 0 || o.Count > maxCount:
		return fmt.Errorf("COUNT must be 1 to %d", maxCount)
	case slices.Contains(o.Bymonthday, 0), slices.Contains(o.Byyearday, 0), slices.Contains(o.Bysetpos, 0), slices.Contains(o.Byweekno, 0):
		return errors.New("days, weeks and positions must not be zero")
	case o.Freq < rrule.DAILY && len(o.Byhour)*len(o.Byminute) > maxTimes:
		return fmt.Errorf("BYHOUR and BYMINUTE name more than %d times of day; that needs FREQ=DAILY or shorter", maxTimes)
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
			return fmt.Errorf("BYDAY=%s: a number needs FREQ=MONTHLY or YEARLY", d)
		case n > 5 && (o.Freq == rrule.MONTHLY || len(o.Bymonth) > 0):
			return fmt.Errorf("BYDAY=%s: months do not have so many", d)
		}
	}
	return nil
}

// checkPeriods refuses what RFC 5545 excludes, and BYSETPOS within an hour or a
// minute, where a position that does not exist would be searched for ever.
func checkPeriods(o *rrule.ROption) error {
	switch {
	case len(o.Byweekno) > 0 && o.Freq != rrule.YEARLY:
		return errors.New("BYWEEKNO needs FREQ=YEARLY")
	case len(o.Byyearday) > 0 && (o.Freq == rrule.MONTHLY || o.Freq == rrule.WEEKLY || o.Freq == rrule.DAILY):
		return fmt.Errorf("BYYEARDAY cannot be combined with FREQ=%v", o.Freq)
	case len(o.Bymonthday) > 0 && o.Freq == rrule.WEEKLY:
		return errors.New("BYMONTHDAY cannot be combined with FREQ=WEEKLY")
	case len(o.Bysetpos) > 0 && o.Freq >= rrule.HOURLY:
		return fmt.Errorf("BYSETPOS cannot be combined with FREQ=%v", o.Freq)
	}
	return nil
}

// checkPositions refuses a BYSETPOS that no day and no week has, for which the library
// would look through all that it knows.
func checkPositions(o *rrule.ROption) error {
	most := max(len(o.Byhour), 1) * max(len(o.Byminute), 1)
	switch o.Freq {
	case rrule.DAILY:
	case rrule.WEEKLY:
		most *= max(len(o.Byweekday), 1)
	default:
		return nil
	}
	for _, n := range o.Bysetpos {
		if max(n, -n) > most {
			return fmt.Errorf("BYSETPOS=%d: FREQ=%v has at most %d here", n, o.Freq, most)
		}
	}
	return nil
}

// checkCount refuses a COUNT that is not reached in a lifetime.
func checkCount(o *rrule.ROption) error {
	if o.Count == 0 {
		return nil
	}
	endless := *o
	endless.Count = 0
	if _, some := rruleAfter(endless, o.Dtstart.Add(-time.Second)); !some {
		return errors.New("it never comes true")
	}
	if _, more := rruleAfter(*o, o.Dtstart.AddDate(countYears, 0, 0)); more {
		return fmt.Errorf("COUNT=%d takes more than %d years", o.Count, countYears)
	}
	return nil
}

// checkReach refuses hours and minutes that the interval never comes to, and days that no
// year has.
func checkReach(o *rrule.ROption) error {
	if !limited(o) {
		return nil
	}
	switch {
	case minutesOfDay%minutes(o) != 0:
		return fmt.Errorf("INTERVAL=%d does not divide a day, so it can only be combined with COUNT and UNTIL", o.Interval)
	case len(readings(o)) == 0:
		return fmt.Errorf("from %s on the interval never matches BYHOUR and BYMINUTE", o.Dtstart.Format("15:04"))
	}
	if _, some := walk(daysOf(*o))(); !some {
		return errors.New("this day does not exist in any year")
	}
	return nil
}

const minutesOfDay = 24 * 60

// limited reports whether a rule runs through hours or minutes of some days, or through
// some of a day's.
func limited(o *rrule.ROption) bool {
	return o.Freq >= rrule.HOURLY &&
		len(o.Bymonth)+len(o.Bymonthday)+len(o.Byyearday)+len(o.Byweekday)+len(o.Byhour)+len(o.Byminute) > 0
}

// minutes are those of one step of a rule that runs through hours or minutes.
func minutes(o *rrule.ROption) int {
	if o.Freq == rrule.HOURLY {
		return max(o.Interval, 1) * 60
	}
	return max(o.Interval, 1)
}

// readings are the times of day of a limited rule, as minutes from midnight, the same
// ones every day, in order.
func readings(o *rrule.ROption) (out []int) {
	names := func(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }
	first := o.Dtstart.Hour()*60 + o.Dtstart.Minute()
	for at := first % minutes(o); at < minutesOfDay; at += minutes(o) {
		switch {
		case !names(o.Byhour, at/60):
		case o.Freq == rrule.HOURLY && len(o.Byminute) > 0:
			for _, m := range o.Byminute {
				out = append(out, at/60*60+m)
			}
		case o.Freq == rrule.HOURLY || names(o.Byminute, at%60):
			out = append(out, at)
		}
	}
	return out
}

// daysOf is the rule of the days on which a limited rule comes true.
func daysOf(o rrule.ROption) rrule.ROption {
	o.Freq, o.Interval, o.Count = rrule.DAILY, 1, 0
	o.Until, o.Byhour, o.Byminute, o.Bysecond = time.Time{}, nil, nil, nil
	o.Dtstart = floating(civil.DateOf(o.Dtstart, time.UTC), civil.TimeOfDay{})
	return o
}

// rruleAfter asks a rule of its own: the library's remember how far they came.
func rruleAfter(o rrule.ROption, after time.Time) (time.Time, bool) {
	if limited(&o) {
		return limitedAfter(o, after)
	}
	o.Dtstart = nearer(o, after)
	rule := walk(o)
	for {
		next, ok := rule()
		if !ok || next.After(after) {
			return next, ok
		}
	}
}

// limitedAfter goes through the days of a limited rule, and the times of each. The library
// would walk over every minute, of years if such days are rare.
func limitedAfter(o rrule.ROption, after time.Time) (time.Time, bool) {
	times, days, left := readings(&o), daysOf(o), o.Count
	second := o.Dtstart.Second()
	if len(o.Bysecond) > 0 {
		second = o.Bysecond[0]
	}
	if left == 0 {
		days.Dtstart = nearer(days, after)
	}
	rule := walk(days)
	for {
		day, ok := rule()
		if !ok {
			return time.Time{}, false
		}
		for _, m := range times {
			on := day.Add(time.Duration(m)*time.Minute + time.Duration(second)*time.Second)
			switch {
			case on.Before(o.Dtstart):
				continue
			case !o.Until.IsZero() && on.After(o.Until):
				return time.Time{}, false
			case on.After(after):
				return on, true
			}
			if left--; left == 0 {
				return time.Time{}, false
			}
		}
	}
}

// The library looks for occurrences until its last year, and needs to be told so.
var lastDay = time.Date(rrule.MAXYEAR, time.December, 31, 23, 59, 59, 0, time.UTC)

// The calendar repeats after cycle years, weekdays and all. A rule of every year that
// comes true at all does so within rarely of them; one of every n-th, within n times that.
const (
	cycle  = 400
	rarely = 40
)

// walk goes through the occurrences of one of the library's rules. One that may be rare is
// walked in the library's last years, so that it looks through a few hundred of them for
// what never comes, and not through eight thousand.
func walk(o rrule.ROption) rrule.Next {
	years := 0
	if o.Count == 0 && namesDays(o) && (o.Freq == rrule.MONTHLY || o.Freq == rrule.YEARLY) {
		years = max(0, (rrule.MAXYEAR-rarely*max(o.Interval, 1)-o.Dtstart.Year())/cycle*cycle)
	}
	o.Dtstart = o.Dtstart.AddDate(years, 0, 0)
	if until := o.Until.AddDate(years, 0, 0); o.Until.IsZero() || until.After(lastDay) {
		o.Until = lastDay
	} else {
		o.Until = until
	}
	r, err := rrule.NewRRule(o)
	if err != nil {
		return func() (time.Time, bool) { return time.Time{}, false }
	}
	next := r.Iterator()
	return func() (time.Time, bool) {
		on, ok := next()
		if !ok {
			return time.Time{}, false
		}
		return on.AddDate(-years, 0, 0), true
	}
}

// nearer moves the beginning of a rule towards after, by whole intervals, since
// the library walks over every occurrence from there. It stays two intervals
// before, so that a first week which is not whole does not count. Rules with a
// COUNT are walked, and those whose months and years take their day from the beginning,
// which have few.
func nearer(o rrule.ROption, after time.Time) time.Time {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	interval := max(o.Interval, 1)
	step := map[rrule.Frequency]int{
		rrule.YEARLY: 12, rrule.MONTHLY: 1, // months
		rrule.WEEKLY: 7 * day, rrule.DAILY: day, rrule.HOURLY: hour, rrule.MINUTELY: minute,
	}[o.Freq] * interval
	months := o.Freq <= rrule.MONTHLY
	between := int(after.Unix() - o.Dtstart.Unix()) // seconds: a Duration ends after 292 years
	if months {
		between = monthOf(after) - monthOf(o.Dtstart)
	}
	steps := between/step - 2
	switch {
	case steps <= 0, o.Count > 0, months && !namesDays(o):
		return o.Dtstart
	case months:
		at := o.Dtstart
		first := time.Month(1)
		if o.Freq == rrule.MONTHLY {
			first = at.Month()
		}
		return time.Date(at.Year(), first+time.Month(steps*step), 1, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	}
	return time.Unix(o.Dtstart.Unix()+int64(steps*step), 0).UTC()
}

func monthOf(t time.Time) int { return t.Year()*12 + int(t.Month()) }

// namesDays reports whether a rule says on which days of its months and years it comes.
func namesDays(o rrule.ROption) bool {
	return len(o.Byweekno)+len(o.Byyearday)+len(o.Bymonthday)+len(o.Byweekday) > 0
}
