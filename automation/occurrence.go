package automation

import (
	"time"

	"github.com/belfry-go/belfry/internal/civil"
)

// Resolution says how a local time became an instant.
type Resolution = civil.Resolution

// The resolutions: a local time exists once, was in a gap of the zone's clocks
// and moved, or existed twice.
const (
	ResolvedExact   = civil.Exact
	ResolvedForward = civil.ShiftedForward // to the end of the gap
	ResolvedBack    = civil.ShiftedBack    // to the second before the gap
	ResolvedFirst   = civil.FirstOfTwo
	ResolvedSecond  = civil.SecondOfTwo
)

// Occurrence is a moment at which a candidate happens: one of many for a
// [Recurrence], the only one otherwise.
type Occurrence struct {
	Key        string // of its row
	LocalDate  Date   // what was asked for, on the clocks of Zone
	LocalTime  string // 09:00, or 09:00:30
	Zone       string
	On         time.Time  // the instant, in UTC
	Resolution Resolution // how the local time became On
}

// occurrence is what a row of a series stands for.
func (r *Schedule) occurrence(date Date, zone *time.Location) (*Occurrence, error) {
	at, err := civil.ParseTimeOfDay(r.SendAt)
	if err != nil {
		return nil, err
	}
	on := r.ScheduledOn
	if _, occurrence, ok := seriesOf(r.Key); ok {
		on = occurrence // a rerun is scheduled later
	}
	_, how, err := civil.Resolve(date, at, zone, civil.Policy{Gap: r.GapPolicy, Overlap: r.OverlapPolicy})
	return &Occurrence{
		Key: r.Key, LocalDate: date, LocalTime: r.SendAt, Zone: r.TimeZone, On: on, Resolution: how,
	}, err
}
