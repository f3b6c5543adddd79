package automation

import (
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
)

const (
	// anywhere is how long after the midnight, UTC, that begins a civil date it is
	// still that date somewhere, or a time of it is shifted to by a gap.
	anywhere = 72 * time.Hour
	// businessDays is how far a calendar may move a date from one day to the next.
	businessDays = 14 * 24 * time.Hour
)

// keeping says for how long rows of a type have to be remembered.
type keeping struct {
	Retention
	catchUp time.Duration // no process answers OffsetPassed for less
	shifted bool          // by business days
}

// old reports whether a row ended so long ago that it may be deleted, unless its
// key may still be asked for.
func (m keeping) old(r *Schedule, now time.Time) bool {
	if m.After == 0 || r.IsOpen() || r.IsOnSupportHold || r.EndedOn.IsZero() {
		return false
	}
	return !r.EndedOn.After(now.Add(-m.After))
}

// forgotten reports whether nobody can ask for the row's key any more.
func (m keeping) forgotten(r *Schedule, now time.Time) bool {
	last, known := m.lastAsked(r)
	return known && last.Before(now)
}

// lastAsked is the last moment at which anybody can ask for the row's key; not
// known where that may happen at any time.
func (m keeping) lastAsked(r *Schedule) (time.Time, bool) {
	switch key, _ := keys.Parse(r.Key); k := key.(type) {
	case keys.Reminder:
		return m.lastOfDates(r)
	case keys.Recurring:
		return k.Occurrence.Add(m.catchUp), true
	case keys.ReportRun:
		return r.ScheduledOn.Add(m.catchUp), true
	case keys.ManualReportRun:
		return r.EndedOn.Add(m.catchUp), true
	case keys.Threshold:
		if _, day, ok := strings.Cut(k.ScopeKey, "@"); ok && k.Policy == keys.OncePerDay {
			return m.lastOf(0, day)
		}
	}
	return r.EndedOn.Add(m.ForgetAfter), m.ForgetAfter > 0
}

// lastOfDates is that of a date-based row: for the day that its key stands for,
// and the one that a calendar made of it.
func (m keeping) lastOfDates(r *Schedule) (time.Time, bool) {
	target, known := m.lastOf(r.DaysBefore, r.TargetDate)
	local, alsoKnown := m.lastOf(0, r.LocalDate)
	if local.After(target) {
		target = local
	}
	if m.shifted {
		target = target.Add(businessDays)
	}
	return target, known && alsoKnown
}

// lastOf is the last moment for a date, so many days before another.
func (m keeping) lastOf(daysBefore int, date string) (time.Time, bool) {
	parsed, err := civil.ParseDate(date)
	if err != nil {
		return time.Time{}, false
	}
	day := parsed.AddDays(-daysBefore)
	return time.Date(day.Year, day.Month, day.Day, 0, 0, 0, 0, time.UTC).Add(anywhere + m.catchUp), !day.IsZero()
}
