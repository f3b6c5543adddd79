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
	"slices"
	"strings"
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

	Except []civil.Date // days that are left out
}

// MaxExcept bounds the days that a cadence leaves out.
const MaxExcept = 366

// Cadence is a checked Spec.
type Cadence struct {
	spec Spec
	next func(after time.Time) (time.Time, bool)
	last time.Time // the last instant, of an UNTIL in UTC; zero: none
}

// Parse checks a spec. A rule that never comes true is refused, and so is one
// that does so more often than every minute; the error says which part of the
// rule is at fault.
func Parse(s Spec) (*Cadence, error) {
	if err := s.checkDays(); err != nil {
		return nil, err
	}
	s.Except = slices.SortedFunc(slices.Values(s.Except), civil.Date.Compare)
	s.Except = slices.Compact(s.Except)
	var c *Cadence
	var err error
	switch {
	case s.Cron != "" && s.RRule != "":
		return nil, errors.New("both Cron and RRule are set; set one of them")
	case s.Cron != "":
		c, err = parseCron(s)
	case s.RRule != "":
		c, err = parseRRule(s)
	default:
		return nil, errors.New("neither Cron nor RRule is set")
	}
	if err != nil {
		return nil, err
	}
	if _, ok := c.After(time.Time{}); !ok {
		return nil, fmt.Errorf("%s never comes true%s", c, s.span())
	}
	return c, nil
}

// firstYear is the earliest in which a cadence begins: a rule walks from its beginning.
const firstYear = 1900

func (s Spec) checkDays() error {
	switch {
	case s.Start != civil.Date{} && !s.Start.Valid():
		return fmt.Errorf("first day: date %s does not exist", s.Start)
	case s.End != civil.Date{} && !s.End.Valid():
		return fmt.Errorf("last day: date %s does not exist", s.End)
	case !s.End.IsZero() && s.End.Before(s.Start):
		return fmt.Errorf("the last day %s is before the first day %s", s.End, s.Start)
	case s.RRule != "" && s.Start.IsZero():
		return errors.New("a Start is required with RRule, which counts from it")
	case !s.Start.IsZero() && s.Start.Year < firstYear:
		return fmt.Errorf("first day: %s is before the year %d", s.Start, firstYear)
	case !s.At.Valid():
		return fmt.Errorf("time of day %s does not exist", s.At)
	case len(s.Except) > MaxExcept:
		return fmt.Errorf("the Except dates are %d, more than %d", len(s.Except), MaxExcept)
	}
	for _, d := range s.Except {
		if !d.Valid() {
			return fmt.Errorf("a date of Except does not exist: %s", d)
		}
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
// and so is the answer. False: the cadence has ended. Where an UNTIL is an instant,
// only a [Timeline] knows when that is.
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
	for ok && c.leavesOut(civil.DateOf(next, time.UTC)) {
		next, ok = c.next(floating(civil.DateOf(next, time.UTC).AddDays(1), civil.TimeOfDay{}).Add(-time.Second))
	}
	if !ok || next.Year() > 9999 || !c.spec.End.IsZero() && civil.DateOf(next, time.UTC).After(c.spec.End) {
		return time.Time{}, false
	}
	return next, true
}

func (c *Cadence) leavesOut(d civil.Date) bool {
	_, found := slices.BinarySearchFunc(c.spec.Except, d, civil.Date.Compare)
	return found
}

// Spec returns what was parsed, with the rule in its canonical spelling, so
// that equal specs are one cadence.
func (c *Cadence) Spec() Spec { return c.spec }

// SeveralADay reports whether the rule may name several times of one day.
func (c *Cadence) SeveralADay() bool {
	if c.spec.Cron != "" {
		fields := strings.Fields(c.spec.Cron)
		return strings.Trim(fields[0]+fields[1], "0123456789") != ""
	}
	for part := range strings.SplitSeq(c.spec.RRule, ";") {
		name, value, _ := strings.Cut(part, "=")
		often := value == "HOURLY" || value == "MINUTELY"
		if often || (name == "BYHOUR" || name == "BYMINUTE") && strings.Contains(value, ",") {
			return true
		}
	}
	return false
}

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

// Occurrence is one moment of a timeline.
type Occurrence struct {
	Local      time.Time        // what the cadence names, floating
	On         time.Time        // the instant, in UTC
	Resolution civil.Resolution // how Local became On
}

// Timeline is a cadence in a zone. What its clocks show twice or never follows
// Policy; local times that come to one instant are one occurrence, and under the
// gap policy Skip a local time that does not exist is left out.
type Timeline struct {
	Cadence *Cadence
	Zone    *time.Location
	Policy  civil.Policy
}

// maxLeftOut is how many local times in a row may come to no new instant: more
// than the minutes of a day that a zone skipped.
const maxLeftOut = 5000

// After returns the first occurrence later than t. False: there is none.
func (l Timeline) After(t time.Time) (Occurrence, bool) {
	local := l.reading(t)
	for range maxLeftOut {
		var ok bool
		if local, ok = l.Cadence.After(local); !ok {
			return Occurrence{}, false
		}
		on, how, err := l.resolve(local)
		if last := l.Cadence.last; err == nil && !last.IsZero() && on.After(last) {
			return Occurrence{}, false
		}
		if err == nil && on.After(t) {
			return Occurrence{Local: local, On: on, Resolution: how}, true
		}
	}
	return Occurrence{}, false
}

// Preview returns the next n occurrences later than t, or fewer if it ends.
func (l Timeline) Preview(t time.Time, n int) []Occurrence {
	var out []Occurrence
	for range n {
		next, ok := l.After(t)
		if !ok {
			break
		}
		out = append(out, next)
		t = next.On
	}
	return out
}

// Latest returns the last occurrence in (after, until].
func (l Timeline) Latest(after, until time.Time) (latest Occurrence, found bool) {
	for back := time.Minute; ; back *= 2 {
		from := until.Add(-back)
		if from.Before(after) {
			from = after
		}
		next, ok := l.After(from)
		for ; ok && !next.On.After(until); next, ok = l.After(next.On) {
			latest, found = next, true
		}
		if found || !from.After(after) {
			return latest, found
		}
	}
}

func (l Timeline) resolve(local time.Time) (time.Time, civil.Resolution, error) {
	return civil.Resolve(civil.DateOf(local, time.UTC), timeOfDay(local), l.Zone, l.Policy)
}

// reading returns the last local time that does not come to an instant after t.
// It is what clocks show at t, except in the first pass of an hour that they
// show twice where the second is meant: then it is the second before that hour.
func (l Timeline) reading(t time.Time) time.Time {
	t = t.Truncate(time.Second)
	_, offset := t.In(l.Zone).Zone()
	high := t.UTC().Add(time.Duration(offset) * time.Second)
	shifting := Timeline{Zone: l.Zone, Policy: civil.Policy{Overlap: l.Policy.Overlap}}
	late := func(local time.Time) bool {
		on, _, err := shifting.resolve(local)
		return err == nil && on.After(t)
	}
	if !late(high) {
		return high
	}
	low := high.Add(-26 * time.Hour)
	for high.Sub(low) > time.Second {
		if mid := low.Add(high.Sub(low) / 2).Truncate(time.Second); late(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

func timeOfDay(local time.Time) civil.TimeOfDay {
	return civil.TimeOfDay{Hour: local.Hour(), Minute: local.Minute(), Second: local.Second()}
}
