package civil

import (
	"errors"
	"fmt"
	"math"
	"time"
)

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
