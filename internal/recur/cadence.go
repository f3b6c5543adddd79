// Package recur says when something happens again: by a cron expression or an
// RRULE on floating time, and from there on the clocks of a zone.
//
// A [Cadence] knows no zone. Its times are what a clock on the wall shows,
// written as if they were in UTC, so that the libraries below never see a
// change of clocks. A [Timeline] puts a cadence into a zone, and a series of
// its instants never repeats and never goes back. Everything is pure and may be
// used from several goroutines at once.
package recur

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
)

// maxText bounds a rule in bytes.
const maxText = 500

// Spec is a cadence as people write it: Cron or RRule, one of them.
type Spec struct {
	Cron  string // five fields, or @yearly, @annually, @monthly, @weekly, @daily, @hourly
	RRule string // the value of an RFC 5545 RRULE; it counts from At on Start

	Start civil.Date      // the first day allowed; required with RRule
	End   civil.Date      // the last day allowed; zero: none
	At    civil.TimeOfDay // with RRule: the time of day where the rule names none
}

// Cadence is a checked Spec.
type Cadence struct {
	spec Spec
	next func(after time.Time) (time.Time, bool)
}

// Parse checks a spec. A rule that never comes true is refused, and so is one
// that does so more often than every minute; the error says which part of the
// rule is at fault.
func Parse(s Spec) (*Cadence, error) {
	if err := s.checkDays(); err != nil {
		return nil, err
	}
	var next func(time.Time) (time.Time, bool)
	var err error
	switch {
	case s.Cron != "" && s.RRule != "":
		return nil, errors.New("both Cron and RRule are set; one of them is the cadence")
	case s.Cron != "":
		s.Cron, next, err = parseCron(s.Cron)
	case s.RRule != "":
		s.RRule, next, err = parseRRule(s)
	default:
		return nil, errors.New("neither Cron nor RRule is set")
	}
	if err != nil {
		return nil, err
	}
	c := &Cadence{spec: s, next: next}
	if _, ok := c.After(time.Time{}); !ok {
		return nil, fmt.Errorf("%s never comes true%s", c, s.span())
	}
	return c, nil
}

func (s Spec) checkDays() error {
	switch {
	case s.Start != civil.Date{} && !s.Start.Valid():
		return fmt.Errorf("first day: date %s does not exist", s.Start)
	case s.End != civil.Date{} && !s.End.Valid():
		return fmt.Errorf("last day: date %s does not exist", s.End)
	case !s.End.IsZero() && s.End.Before(s.Start):
		return fmt.Errorf("the last day %s is before the first day %s", s.End, s.Start)
	case s.RRule != "" && s.Start.IsZero():
		return errors.New("no Start is set, and an RRule counts from it")
	case !s.At.Valid():
		return fmt.Errorf("time of day %s does not exist", s.At)
	}
	return nil
}

func (s Spec) span() string {
	switch {
	case s.Start.IsZero() && s.End.IsZero():
		return ""
	case s.End.IsZero():
		return " from " + s.Start.String() + " on"
	case s.Start.IsZero():
		return " until " + s.End.String()
	}
	return " from " + s.Start.String() + " to " + s.End.String()
}

// epoch is where a cron expression without a Start is tried out.
var epoch = civil.Date{Year: 2000, Month: time.January, Day: 1}

// After returns the first time behind local, to the second; local is floating,
// and so is the answer. False: the cadence has ended.
func (c *Cadence) After(local time.Time) (time.Time, bool) {
	first := c.spec.Start
	if first.IsZero() && local.IsZero() {
		first = epoch
	}
	if !first.IsZero() {
		if before := floating(first, civil.TimeOfDay{}).Add(-time.Second); local.Before(before) {
			local = before
		}
	}
	next, ok := c.next(local.UTC().Truncate(time.Second))
	if !ok || next.Year() > 9999 || !c.spec.End.IsZero() && civil.DateOf(next, time.UTC).After(c.spec.End) {
		return time.Time{}, false
	}
	return next, true
}

// Spec returns what was parsed, with the rule in its canonical spelling, so
// that equal specs are one cadence.
func (c *Cadence) Spec() Spec { return c.spec }

// String is the rule, as people read it.
func (c *Cadence) String() string {
	if c.spec.Cron != "" {
		return "cron " + c.spec.Cron
	}
	return "RRULE " + c.spec.RRule
}

// floating writes what a clock shows as if it were in UTC.
func floating(d civil.Date, at civil.TimeOfDay) time.Time {
	return time.Date(d.Year, d.Month, d.Day, at.Hour, at.Minute, at.Second, 0, time.UTC)
}
