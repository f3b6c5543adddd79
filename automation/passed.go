package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// passed is a request that was answered with OffsetPassed, as the row of its source
// remembers it: nothing else tells that it was ever made.
type passed struct {
	Setting string
	// Key is what stands behind the setting and the source in the key that was asked for.
	Key         string
	AskedOn     time.Time
	ScheduledOn time.Time
	// Why is for people.
	Why string
}

// maxPassed is how many of them a source remembers, the newest.
const maxPassed = 10

// keyPrefix is what stands in a key before what a passed request remembers.
func keyPrefix(setting string, source Source) string {
	return "reminder:" + setting + ":" + source.Type + ":" + source.ID + ":"
}

// rememberPassed notes with the source of an event, or of a [Reminders.Set], which of its
// plans come too late to have a row.
func (s ensurer) rememberPassed(ctx context.Context, tx storage.Tx, plans []plan, late latePlans) error {
	if s.source == nil || len(late.missing) == 0 {
		return nil
	}
	var asked []passed
	now := s.now()
	for i := range plans {
		want := &plans[i].want
		rest, isReminder := strings.CutPrefix(want.Key, keyPrefix(want.Setting, Source{want.SourceType, want.Source}))
		if late.missing[i] != "" && isReminder {
			asked = append(asked, passed{want.Setting, rest, now, want.ScheduledOn, want.askedWords(now, late.missing[i])})
		}
	}
	if !s.source.addPassed(asked) {
		return nil
	}
	return sources.Save(ctx, tx, s.source)
}

// addPassed takes over the newest of what was asked for, and reports whether one of them is
// new. A key has one entry; where its moment is another one, it is asked for anew.
func (s *sourceState) addPassed(asked []passed) (isNew bool) {
	all := slices.Clone(s.Passed)
	for _, p := range asked[max(0, len(asked)-maxPassed):] {
		at := slices.IndexFunc(all, func(k passed) bool { return k.Setting == p.Setting && k.Key == p.Key })
		if at >= 0 && all[at].ScheduledOn.Equal(p.ScheduledOn) {
			continue
		}
		if at >= 0 {
			all = slices.Delete(all, at, at+1)
		}
		all, isNew = append(all, p), true
	}
	s.Passed = all[max(0, len(all)-maxPassed):]
	return isNew
}

// askedTooLate says of a key without a row by how much its moment had passed when it was asked
// for; empty: its source does not remember that.
func askedTooLate(ctx context.Context, from driver.Reader, scope Scope, text string) (string, error) {
	var setting string
	var source Source
	parsed, _ := keys.Parse(text) // what cannot be parsed was never asked for
	switch k := parsed.(type) {
	case keys.Reminder:
		setting, source = k.Setting, Source{k.SourceType, k.Source}
	case keys.Instant:
		setting, source = k.Setting, Source{k.SourceType, k.Source}
	default:
		return "", nil
	}
	key, err := keys.Join(source.Type, source.ID)
	if err != nil {
		return "", err
	}
	state, err := sources.Get(ctx, from, scope, key)
	if errors.Is(err, storage.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, p := range state.Passed {
		if p.Setting == setting && text == keyPrefix(setting, source)+p.Key {
			return p.Why, nil
		}
	}
	return "", nil
}

// askedWords say when a row was asked for, and by how much its moment had passed.
func (r *scheduleRow) askedWords(asked time.Time, limit string) string {
	return "asked on " + dayWords(asked.In(r.zone()), r.ScheduledOn) + "; " + r.passedBy(asked, limit)
}

// passedBy says by how much the moment of a row had passed at another one.
func (r *scheduleRow) passedBy(now time.Time, limit string) string {
	on := r.ScheduledOn.In(r.zone())
	return fmt.Sprintf("its time, %s %s, had passed by %s, %s", dayWords(on, now), on.Format("15:04"), ago(now.Sub(on)), limit)
}

// ago is a time that has passed, as people say it.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		switch n := int(d / unit.size); {
		case n == 1:
			return "1 " + unit.name
		case n > 1:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return "less than a minute"
}

// zone is that of the row, or UTC.
func (r *scheduleRow) zone() *time.Location {
	if zone, err := civil.LoadZone(r.TimeZone); err == nil {
		return zone
	}
	return time.UTC
}

// dayWords is a day as people say it, with its year where that is not the other's.
func dayWords(day, other time.Time) string {
	if day.Year() == other.Year() {
		return day.Format("2 January")
	}
	return day.Format("2 January 2006")
}

// limits say what a row comes too late for that is yet to be made, or to come back; empty:
// it does not.
func (l Lateness) limits(now time.Time, r *scheduleRow, overtaken bool) string {
	late := now.Sub(r.ScheduledOn)
	switch {
	case l.Window > 0 && late > l.Window:
		return "more than Window (" + hours(l.Window) + ")"
	case l.CatchUp > 0 && late > l.CatchUp:
		return "more than CatchUp (" + hours(l.CatchUp) + ")"
	case r.untrue(now):
		return "and what it is before has begun"
	case l.OnlyLatest && overtaken:
		return "and a later one counts"
	}
	return ""
}

func hours(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}

// latenessOf is the policy for rows of a trigger that are asked for.
func (t *ReminderType) latenessOf(trigger TriggerType) Lateness {
	l := t.Lateness
	switch trigger {
	case DateBased:
		l.CatchUp = cmp.Or(l.CatchUp, defaultCatchUp)
	case InstantBased:
		l.CatchUp = cmp.Or(l.CatchUp, instantCatchUp)
	default:
		return Lateness{}
	}
	return l
}
