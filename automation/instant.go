package automation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage/driver"
)

// instantCatchUp is how far in the past a new reminder before an instant may lie:
// as long as an event may take to get here. "24 hours before" is not said at once
// about a lesson that is booked for this afternoon.
const instantCatchUp = 15 * time.Minute

// instantZone is that of the texts of a reminder before an instant, where none
// is given.
const instantZone = "UTC"

// isInstant reports whether the candidate is before an instant.
func (c *Candidate) isInstant() bool { return !c.At.IsZero() || c.Before != 0 }

// errInstant refuses a field beside At.
var errInstant = errors.New("cannot be combined with At and Before")
var errNoInstant = errors.New("is not set: it is the instant that the reminder is before")

// planInstant plans the row of a reminder before an instant.
func (s planner) planInstant(ctx context.Context, c Candidate, t ReminderType, p *plan) (field string, err error) {
	if field := c.dated(); field != "" {
		return field, errInstant
	}
	if c.At.IsZero() {
		return "At", errNoInstant
	}
	c = c.reminder(t)
	c.At = c.At.Truncate(time.Second)
	key, err := keys.Instant{
		Setting: c.Setting, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey, Start: c.At, Before: c.Before,
	}.Key()
	if err != nil {
		return "", err
	}
	if t.Zone == "" {
		t.Zone = instantZone
	}
	zone, loc, err := s.zone(ctx, c, t)
	if err != nil {
		return "Zone", err
	}
	c.fill(&p.want, key, InstantBased, instantInput(key))
	p.want.ScheduledOn, p.want.TimeZone = driver.Time(c.At.Add(-c.Before)), zone
	if !civil.DateOf(p.want.ScheduledOn, loc).Valid() {
		return "Before", fmt.Errorf("%s before %s is outside the years 1 to 9999", c.Before, stampText(c.At))
	}
	p.want.showAt(loc)
	p.lateness = t.latenessOf(InstantBased)
	return "", nil
}

// instantMark stands before the instant in a key, and nowhere behind it.
const instantMark = ":instant:"

// instantInput is what the input has of the instant: what the key has.
func instantInput(key string) keys.Input {
	return keys.Input{TargetDate: key[strings.LastIndex(key, instantMark)+len(instantMark):]}
}

// showAt says what the clocks of a zone show at the row's moment.
func (r *scheduleRow) showAt(zone *time.Location) {
	local := r.ScheduledOn.In(zone)
	r.LocalDate = civil.DateOf(r.ScheduledOn, zone).String()
	r.SendAt = civil.TimeOfDay{Hour: local.Hour(), Minute: local.Minute(), Second: local.Second()}.String()
}

// instant is what a row before an instant stands for; false for others.
func (r *scheduleRow) instant() (keys.Instant, bool) {
	if r.TriggerType != InstantBased {
		return keys.Instant{}, false
	}
	parsed, _ := keys.Parse(r.Key) // unreadable: it stands for nothing known
	k, ok := parsed.(keys.Instant)
	return k, ok
}

// instant decodes what is particular to a reminder before an instant. Its dates are
// those of its zone, so that one text serves dates and instants.
func (d *Due) instant(r *scheduleRow) error {
	k, ok := r.instant()
	if !ok {
		return fmt.Errorf("automation: key of %s: it is not that of an instant", r.Key)
	}
	if err := d.local(r); err != nil {
		return err
	}
	zone, err := civil.LoadZone(r.TimeZone)
	if err != nil {
		return err
	}
	d.At, d.Before = k.Start, k.Before
	d.TargetDate = civil.DateOf(k.Start, zone)
	d.DaysBefore = civil.DateOf(k.Start.Add(-k.Before), zone).DaysUntil(d.TargetDate)
	return nil
}

// instantData is what texts may say about the instant, on the clocks of the zone.
func (d Due) instantData() *occurrenceData {
	if d.TriggerType != InstantBased {
		return nil
	}
	zone, err := civil.LoadZone(d.Zone)
	if err != nil {
		return nil // decode would have refused it
	}
	local := d.At.In(zone)
	at := civil.TimeOfDay{Hour: local.Hour(), Minute: local.Minute(), Second: local.Second()}
	return &occurrenceData{d.TargetDate, at.String(), d.Zone}
}

// span is the way from the instant, as people say it.
func (s *Schedule) span() string {
	text := s.Key[strings.LastIndexByte(s.Key, ':')+1:]
	switch {
	case s.Before == 0:
		return "at"
	case s.Before < 0:
		return strings.TrimPrefix(text, "-") + " after"
	}
	return text + " before"
}
