package recur

import (
	"time"

	"github.com/belfry-go/belfry/internal/civil"
)

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
