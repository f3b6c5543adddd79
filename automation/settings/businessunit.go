package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// BusinessUnit is a part of a tenant with its own zone and calendar.
type BusinessUnit struct {
	Scope automation.Scope
	// ID is the host's id of the unit. It must not be empty or contain a colon or a control
	// character.
	ID string
	// Name is for people.
	Name string
	// Zone is an IANA name such as "Europe/Dublin"; it is required.
	Zone string
	// Calendar has its business days.
	Calendar Calendar

	// Version is the version that was read; zero for a new unit.
	Version int64
	// SavedOn is when it was last written. Save ignores it.
	SavedOn time.Time
}

// Validate lists all problems of u in an [*InvalidError].
func (u BusinessUnit) Validate() error { return u.faults().err("business unit", u.ID) }

func (u BusinessUnit) faults() faults {
	var f faults
	f.Scope(u.Scope)
	f.Part("ID", u.ID)
	f.text("Name", u.Name, maxName)
	_, err := civil.LoadZone(u.Zone)
	f.Because("Zone", err)
	f.calendar(u.Calendar)
	return f
}

// Calendar has the business days of a unit, and says where a reminder on another day
// moves. In the zero value every day is a business day.
type Calendar struct {
	// Weekend are the days of the week that are not business days; Sunday is 0.
	Weekend []time.Weekday `json:"weekend,omitempty"`
	// Holidays are single dates that are not business days.
	Holidays []automation.Date `json:"holidays,omitempty"`
	// Shift moves reminders that fall on such days; empty: they stay.
	Shift Shift `json:"shift,omitempty"`
}

// Shift says where a reminder moves that falls on a day that is not a business day. The
// key of its row stays, so a changed calendar moves rows in place.
type Shift string

// The shifts.
const (
	ShiftNone     Shift = ""
	ShiftNext     Shift = "next"     // to the next business day
	ShiftPrevious Shift = "previous" // to the previous one
)

// maxHolidays is enough for twenty years.
const maxHolidays = 1000

// IsBusinessDay reports whether d is a business day. d must be valid.
func (c Calendar) IsBusinessDay(d automation.Date) bool {
	return !slices.Contains(c.Weekend, d.Weekday()) && !slices.Contains(c.Holidays, d)
}

// Move returns the day to which the calendar moves a reminder that falls on d. It returns
// the zero Date if the calendar has no business day, or if the result is outside the
// years 1 to 9999.
func (c Calendar) Move(d automation.Date) automation.Date {
	step := 0
	switch c.Shift {
	case ShiftNext:
		step = 1
	case ShiftPrevious:
		step = -1
	}
	// At least one day a week is a business day, and each holiday removes at most one week.
	for range 7 * (1 + len(c.Holidays)) {
		if step == 0 || d.IsZero() || c.IsBusinessDay(d) {
			return d
		}
		d = d.AddDays(step)
	}
	return automation.Date{}
}

func (f *faults) calendar(c Calendar) {
	for i, day := range c.Weekend {
		if day < time.Sunday || day > time.Saturday {
			f.Add(fmt.Sprintf("Calendar.Weekend[%d]", i), "is %d, but must be from 0 (Sunday) to 6 (Saturday)", int(day))
		}
	}
	distinct(f, "Calendar.Weekend", c.Weekend, 6)
	for i, day := range c.Holidays {
		if !day.Valid() {
			f.Add(fmt.Sprintf("Calendar.Holidays[%d]", i), "%s does not exist", day)
		}
	}
	distinct(f, "Calendar.Holidays", c.Holidays, maxHolidays)
	switch c.Shift {
	case ShiftNone, ShiftNext, ShiftPrevious:
	default:
		f.Add("Calendar.Shift", "is %.40q, but must be next, previous or empty", string(c.Shift))
	}
}

// unitRow is a row of business_unit. Its key is the unit's id. It is never due.
type unitRow struct {
	storage.Record
	Name     string    `db:"name,plain"`
	Zone     string    `db:"time_zone,plain"`
	Calendar Calendar  `db:"calendar,json,plain"`
	SavedOn  time.Time `db:"saved_on"`
}

var units = driver.Define[unitRow]("business_unit").Grows(driver.Bounded).
	Kept(driver.Always, "as many as people configure").Limit(maxRow)

func (u BusinessUnit) row(now time.Time) *unitRow {
	return &unitRow{
		Record: storage.Record{Scope: u.Scope, Key: u.ID}, Name: u.Name, Zone: u.Zone, Calendar: u.Calendar, SavedOn: now,
	}
}

func (r *unitRow) unit() BusinessUnit {
	return BusinessUnit{
		Scope: r.Scope, ID: r.Key, Name: r.Name, Zone: r.Zone, Calendar: r.Calendar, Version: r.Version, SavedOn: r.SavedOn,
	}
}

// says reports whether two rows have the same content.
func (r *unitRow) says(other *unitRow) bool {
	return r.Name == other.Name && r.Zone == other.Zone && sameDocument(r.Calendar, other.Calendar)
}

// SaveBusinessUnit inserts a unit (Version zero) or updates one that was read, and
// returns the stored unit. Errors are those of [Settings.SaveReminder]. A changed zone or
// calendar marks the unit's rows for a re-plan (automation.MarkReplan) in the same
// transaction.
func (s *Settings) SaveBusinessUnit(ctx context.Context, want BusinessUnit) (BusinessUnit, error) {
	if err := want.Validate(); err != nil {
		return BusinessUnit{}, err
	}
	var saved BusinessUnit
	err := s.inTx(ctx, func(tx storage.Tx) error {
		stored, err := find(ctx, tx, units, want.Scope, want.ID)
		if err != nil {
			return err
		}
		row, err := put(ctx, s, tx, units, stored, want.row(driver.Now(tx.Store())), want.Version)
		if err != nil {
			return err
		}
		saved = row.unit()
		if stored == nil || stored.Zone == row.Zone && sameDocument(stored.Calendar, row.Calendar) {
			return nil
		}
		return s.mark(ctx, tx, automation.Replan{Scope: want.Scope, BusinessUnit: want.ID})
	})
	if err != nil {
		return BusinessUnit{}, wrap("business unit", want.ID, err)
	}
	return saved, nil
}

// BusinessUnit returns the unit with that id, or storage.ErrNotFound.
func (s *Settings) BusinessUnit(ctx context.Context, scope automation.Scope, id string) (BusinessUnit, error) {
	u, ok, err := s.unit(ctx, scope, id)
	if err == nil && !ok {
		err = storage.ErrNotFound
	}
	return u, wrap("business unit", id, err)
}

func (s *Settings) unit(ctx context.Context, scope automation.Scope, id string) (u BusinessUnit, ok bool, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		row, err := find(ctx, from, units, scope, id)
		if ok = row != nil; ok {
			u = row.unit()
		}
		return err
	})
	return u, ok, err
}

// BusinessUnits lists the units of a scope, and says where the next page begins;
// empty after the last.
func (s *Settings) BusinessUnits(ctx context.Context, scope automation.Scope, p storage.Page) ([]BusinessUnit, string, error) {
	return list(ctx, s, units, scope, "", p, (*unitRow).unit)
}

// unit checks that the business unit of a setting exists.
func (f *faults) unit(ctx context.Context, from driver.Reader, scope automation.Scope, id string) error {
	if id == "" || f.Has("BusinessUnit") {
		return nil
	}
	row, err := find(ctx, from, units, scope, id)
	if err == nil && row == nil {
		f.Add("BusinessUnit", "business unit %.60q does not exist in this scope; save it first", id)
	}
	return err
}
