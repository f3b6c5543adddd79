package automation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// A period has one occurrence, wherever its time of day, its zone or the cadence move. Its
// rows tell that it is past: one went out, or a person has stopped it, or it was skipped.

// seriesMemory is how far back an occurrence may be of a local date that is yet to come:
// zones are 26 hours apart at most.
const seriesMemory = 48 * time.Hour

// period is what an occurrence stands for, whatever its time of day: the local date
// that the cadence names, 2006-01-02, and where it has several a day, the time as well.
func period(line recur.Timeline, o recur.Occurrence) string {
	date := localDate(o).String()
	if line.Cadence.SeveralADay() {
		return date + "T" + localTime(o).String()
	}
	return date
}

// samePeriod reports whether two periods are one. Where one of them is a whole date, the
// date alone counts.
func samePeriod(a, b string) bool {
	dateA, _, severalA := strings.Cut(a, "T")
	dateB, _, severalB := strings.Cut(b, "T")
	return a == b || dateA == dateB && (!severalA || !severalB)
}

func dateOfPeriod(p string) string {
	date, _, _ := strings.Cut(p, "T")
	return date
}

// pass says that the period of the current occurrence is past.
func (d *series) pass() { d.PastPeriod = max(d.PastPeriod, d.NextPeriod) }

// notHad are the reasons of occurrences that ended without having been decided about: the
// series went another way, or ended.
var notHad = []Reason{reasons.Superseded, reasons.InputChanged, reasons.ReminderSettingInactive}

// isHad reports whether the period of an occurrence is past.
func (r *scheduleRow) isHad(now time.Time) bool {
	switch {
	case r.inShadow():
		return !r.ScheduledOn.After(now) // the old scheduler had it
	case r.Status != StatusDeactivated || r.IsOnSupportHold:
		return true
	case slices.Contains(notHad, r.ReasonCode):
		return false
	}
	dispatched, _ := r.Dispatched() // undecodable: nothing to tell
	return dispatched.Path == notify.PathSkipped
}

// following looks for the next occurrence of a series. It reads rows only where the
// furthest period that is past does not tell.
type following struct {
	from driver.Reader
	now  time.Time
	d    *series
	line recur.Timeline
	gone string // the period of the current occurrence, if it is past
	ends string // the key of the current occurrence, if it ends and is not

	had   []string  // periods that are past
	since time.Time // from when on they were looked for; zero: they were not
}

// after is the first occurrence later than t whose period is not past.
func (f *following) after(ctx context.Context, t time.Time) (recur.Occurrence, bool, error) {
	o, ok := f.line.After(t)
	for ok {
		past, err := f.isPast(ctx, o)
		if err != nil || !past {
			return o, err == nil, err
		}
		o, ok = f.line.After(o.On)
	}
	return o, false, nil
}

// latest is the last occurrence in (t, until] whose period is not past.
func (f *following) latest(ctx context.Context, t, until time.Time) (latest recur.Occurrence, found bool, err error) {
	last, due := f.line.Latest(t, until)
	if !due {
		return latest, false, nil
	}
	if past, err := f.isPast(ctx, last); err != nil || !past {
		return last, err == nil, err
	}
	for {
		o, ok, err := f.after(ctx, t)
		if err != nil || !ok || o.On.After(until) {
			return latest, found, err
		}
		latest, found, t = o, true, o.On
	}
}

// isPast reports whether the period of an occurrence is past. Behind the furthest one none
// is, and nor is a later time of its day.
func (f *following) isPast(ctx context.Context, o recur.Occurrence) (bool, error) {
	p, furthest := period(f.line, o), max(f.d.PastPeriod, f.gone)
	switch {
	case f.gone != "" && samePeriod(p, f.gone), f.d.PastPeriod != "" && samePeriod(p, f.d.PastPeriod):
		return true, nil
	case dateOfPeriod(p) > dateOfPeriod(furthest), f.gone == furthest && p > furthest:
		return false, nil
	}
	if err := f.readHad(ctx, o.On); err != nil {
		return false, err
	}
	return slices.ContainsFunc(f.had, func(had string) bool { return samePeriod(p, had) }), nil
}

// readHad finds the periods that are past among the rows of the series, from two days
// before a moment on.
func (f *following) readHad(ctx context.Context, on time.Time) error {
	if !f.since.IsZero() && !on.Before(f.since) {
		return nil
	}
	first, err := f.d.key(on.Add(-seriesMemory))
	if err != nil {
		return err
	}
	f.since = on
	q := driver.Query{
		Columns: []string{"status", "reason_code", "is_on_support_hold", "scheduled_on", "target_date", "dispatch_result"},
		Where:   []driver.Cond{driver.AtLeast("key", first), driver.Less("key", behind(first[:len(first)-len(instantText)]))},
		OrderBy: "key", Limit: compareChunk,
	}
	for {
		rows, err := schedules.Find(ctx, f.from, f.d.Scope, q)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Key != f.ends && r.isHad(f.now) && r.TargetDate != "" {
				f.had = append(f.had, r.TargetDate)
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		last := rows[len(rows)-1]
		q.After = &driver.Position{Value: last.Key, ID: last.ID}
	}
}

// instantText is as long as the instant at the end of a key of an occurrence.
const instantText = "2006-01-02T15:04:05Z"
