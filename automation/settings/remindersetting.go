package settings

import (
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/civil"
)

// ReminderSetting says when and how to remind of one kind of thing. Several
// settings of one type are independent of each other: each makes rows of its
// own.
type ReminderSetting struct {
	Scope automation.Scope
	// ID is the host's, usually a GUID. It is part of the keys of all rows, and
	// may not be empty or hold a colon or a control character.
	ID string
	// Type is the Name of the automation.ReminderType; it never changes.
	Type string
	// Name is for people.
	Name string
	// Active is false for a setting that is off: its rows end as Deactivated,
	// ReminderSettingInactive.
	Active bool
	// BusinessUnit narrows it to sources of that unit; empty means all.
	BusinessUnit string

	// Offsets are days before the date, negative ones after it.
	Offsets []int
	// SendAt is the local time of day, "09:00" or "09:00:30"; empty leaves it to
	// the type.
	SendAt string
	// Thresholds are conditions on what the host measures of a source.
	Thresholds []Threshold
	// Cadence makes a series for each source; with an RRULE it happens at SendAt.
	Cadence Cadence

	// Template and Channels are read when a row is due: Template is a name that
	// means something to the host, Channels are keys such as "email:smtp"; none
	// leaves the choice to the recipients. See [KeepChannels].
	Template string
	Channels []string

	// Version is what the setting was read with; zero for a new one.
	Version int64
	// SavedOn is when it was last written. Save ignores it.
	SavedOn time.Time
}

// Of returns the setting that a due row was loaded with, for recipient providers
// and delivery policies, and false if it is of another source or none.
func Of(d automation.Due) (ReminderSetting, bool) {
	r, ok := d.Setting.Data.(ReminderSetting)
	return r, ok
}

// maxOffset is ten years of days.
const maxOffset = 3660

// Validate says all that is wrong with r as far as r alone tells, with an
// [*InvalidError].
func (r ReminderSetting) Validate() error { return r.faults().err("reminder setting", r.ID) }

func (r ReminderSetting) faults() faults {
	var f faults
	f.Scope(r.Scope)
	f.Part("ID", r.ID)
	f.Part("Type", r.Type)
	f.text("Name", r.Name, maxName)
	f.Optional("BusinessUnit", r.BusinessUnit)
	for i, days := range r.Offsets {
		if days > maxOffset || days < -maxOffset {
			f.Add(fmt.Sprintf("Offsets[%d]", i), "%d days is more than ten years", days)
		}
	}
	list(&f, "Offsets", r.Offsets, maxList)
	if r.SendAt != "" {
		_, err := civil.ParseTimeOfDay(r.SendAt)
		f.Because("SendAt", err)
	}
	f.thresholds(r.Thresholds)
	f.cadence(r.Cadence, r.SendAt)
	f.text("Template", r.Template, maxName)
	f.names("Channels", r.Channels, maxList)
	return f
}
