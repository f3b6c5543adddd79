package recur

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
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
