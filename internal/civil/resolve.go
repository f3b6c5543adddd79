package civil

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"sync"
	"time"
)

// GapPolicy says which instant a local time means that a zone's clocks jump
// over, as they do when summer time begins. Empty means ShiftForward. The
// texts are kept in databases and never change.
type GapPolicy string

const (
	// ShiftForward takes the first instant after the gap: where clocks jump from
	// 02:00 to 03:00, 02:30 becomes 03:00. It is the default.
	ShiftForward GapPolicy = "forward"
	// ShiftBack takes the last whole second before the gap: 02:30 becomes
	// 01:59:59. Where a zone left out a whole day, this is in the day before.
	ShiftBack GapPolicy = "back"
	// Skip takes no instant: Resolve returns ErrSkipped.
	Skip GapPolicy = "skip"
)

// OverlapPolicy says which instant a local time means that a zone's clocks show
// twice, as they do when summer time ends. Empty means First. The texts are
// kept in databases and never change.
type OverlapPolicy string

const (
	// First takes the earlier of the two instants. It is the default.
	First OverlapPolicy = "first"
	// Second takes the later of the two instants.
	Second OverlapPolicy = "second"
)

// Policy decides what becomes of local times that do not exist or exist twice
// (Automation & Reminders, "Two trigger types": daylight saving by product
// rule). The zero value shifts forward in gaps and takes the first in overlaps.
type Policy struct {
	Gap     GapPolicy
	Overlap OverlapPolicy
}

// Validate returns an error that names the value if the policy holds one that
// is not listed here.
func (p Policy) Validate() error {
	switch p.Gap {
	case "", ShiftForward, ShiftBack, Skip:
	default:
		return fmt.Errorf("gap policy %q must be forward, back or skip", p.Gap)
	}
	switch p.Overlap {
	case "", First, Second:
	default:
		return fmt.Errorf("overlap policy %q must be first or second", p.Overlap)
	}
	return nil
}

// Resolution says how a local time was turned into an instant. Empty means
// that it was not, because of bad input.
type Resolution string

const (
	// Exact is a local time that exists once.
	Exact Resolution = "exact"
	// ShiftedForward is a local time in a gap, moved to the gap's end.
	ShiftedForward Resolution = "shifted-forward"
	// ShiftedBack is a local time in a gap, moved to the second before it.
	ShiftedBack Resolution = "shifted-back"
	// Skipped is a local time in a gap that the policy gives no instant.
	Skipped Resolution = "skipped"
	// FirstOfTwo is the earlier instant of a local time that exists twice.
	FirstOfTwo Resolution = "first-of-two"
	// SecondOfTwo is the later instant of a local time that exists twice.
	SecondOfTwo Resolution = "second-of-two"
)

// ErrSkipped is what Resolve's error wraps when the local time does not exist
// and the policy is Skip.
var ErrSkipped = errors.New("this local time does not exist (the clocks change), and the policy is to skip it")

// zones holds every *time.Location that LoadZone has returned, by name. Only
// names that exist get in, so it cannot grow without bound.
var zones sync.Map

// zoneName is the form of IANA names: America/Port-au-Prince, Etc/GMT+1, UTC.
// Without dots, no name leaves the zone folder. All parts begin with a capital,
// which keeps out what machines add to that folder: localtime, posixrules, and
// right/..., whose zones count leap seconds and are half a minute off.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

// LoadZone returns the zone with an IANA name, such as Europe/London or UTC,
// and remembers it.
//
// It refuses the empty name, Local (another zone on every machine) and whatever
// else is not in the IANA database, with an error that says so. Programs often run in images without any zone data, where every name but
// UTC is unknown: import time/tzdata into the program, or install the tzdata
// package.
func LoadZone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("time zone %q depends on the machine: give an IANA name such as Europe/London", name)
	}
	if !zoneName.MatchString(name) {
		return nil, fmt.Errorf("time zone %.80q is not an IANA name such as Europe/London", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %.80q is unknown: either it is not an IANA name such as Europe/London, "+
			"or there is no zone data here (import time/tzdata, or install the tzdata package): %w", name, err)
	}
	zones.Store(name, loc)
	return loc, nil
}

// maxOffset is further from UTC than any zone ever was (the record is 15:56:08).
const maxOffset = daySecs

// Resolve returns the instant, in UTC, at which clocks in loc show tod on d.
// Where they show it twice or never, p decides, and the Resolution says what
// was done. The same arguments and zone data always give the same instant, and
// under the default policy a later local time never gives an earlier instant.
//
// With the gap policy Skip, a local time that does not exist gives the zero
// Time, Skipped and an error that wraps ErrSkipped. Any other error means bad
// input: a date or time that is not Valid, a nil loc, an unknown policy, or a
// zone made by hand that is more than a day from UTC.
func Resolve(d Date, tod TimeOfDay, loc *time.Location, p Policy) (time.Time, Resolution, error) {
	if err := checkInput(d, tod, loc, p); err != nil {
		return time.Time{}, "", err
	}
	reading := d.midnight().Unix() + tod.sinceMidnight()
	stretches := stretchesAround(reading, loc)
	shown := instantsOf(reading, stretches)
	switch {
	case len(shown) == 1:
		return instant(shown[0]), Exact, nil
	case len(shown) > 1 && p.Overlap == Second:
		return instant(shown[1]), SecondOfTwo, nil
	case len(shown) > 1:
		return instant(shown[0]), FirstOfTwo, nil
	}
	jump, found := jumpOver(reading, stretches)
	if !found {
		return time.Time{}, "", fmt.Errorf("zone %v is more than a day from UTC", loc)
	}
	switch p.Gap {
	case Skip:
		return time.Time{}, Skipped, fmt.Errorf("%v %v in %v: %w", d, tod, loc, ErrSkipped)
	case ShiftBack:
		return instant(jump - 1), ShiftedBack, nil
	default:
		return instant(jump), ShiftedForward, nil
	}
}

func checkInput(d Date, tod TimeOfDay, loc *time.Location, p Policy) error {
	switch {
	case !d.Valid():
		return fmt.Errorf("date %q does not exist", d)
	case !tod.Valid():
		return fmt.Errorf("time of day %q does not exist", tod)
	case loc == nil:
		return errors.New("no time zone given")
	}
	return p.Validate()
}

// stretch is a period in which a zone keeps one offset: from start up to, not
// including, end, in Unix seconds. Clocks show the Unix second plus offset.
type stretch struct {
	start, end, offset int64
}

// stretchesAround returns, in order and without holes, the stretches that may
// show reading: what clocks show, counted as if they were in UTC.
func stretchesAround(reading int64, loc *time.Location) []stretch {
	var all []stretch
	limit := reading + maxOffset + 1
	for start := reading - maxOffset; start < limit; {
		t := time.Unix(start, 0).In(loc)
		_, offset := t.Zone()
		end := min(offsetEnd(t), limit)
		all = append(all, stretch{start: start, end: end, offset: int64(offset)})
		start = end
	}
	return all
}

// offsetEnd returns a second after t up to which the offset at t surely lasts;
// it may last longer.
func offsetEnd(t time.Time) int64 {
	_, end := t.ZoneBounds()
	if end.IsZero() {
		return math.MaxInt64
	}
	if !end.After(t) {
		// Package time counts 365 days for the last period of a year beyond a
		// zone's listed changes, so that on 31 December of a leap year the end
		// is before t (golang/go issue 81583). Meant is the year's end in UTC.
		return t.Truncate(24 * time.Hour).Add(24 * time.Hour).Unix()
	}
	return end.Unix()
}

// instantsOf returns the Unix seconds at which clocks show reading, in order.
func instantsOf(reading int64, stretches []stretch) []int64 {
	var shown []int64
	for _, s := range stretches {
		if at := reading - s.offset; s.start <= at && at < s.end {
			shown = append(shown, at)
		}
	}
	return shown
}

// jumpOver returns the Unix second at which clocks first jump from before
// reading to after it.
func jumpOver(reading int64, stretches []stretch) (int64, bool) {
	for i := 1; i < len(stretches); i++ {
		jump := stretches[i].start
		if jump+stretches[i-1].offset <= reading && reading < jump+stretches[i].offset {
			return jump, true
		}
	}
	return 0, false
}

func instant(sec int64) time.Time { return time.Unix(sec, 0).UTC() }
