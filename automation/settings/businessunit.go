package settings

import (
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/civil"
)

// BusinessUnit is a part of a tenant with a zone and a calendar of its own.
type BusinessUnit struct {
	Scope automation.Scope
	// ID is the host's. It may not be empty or hold a colon or a control character.
	ID string
	// Name is for people.
	Name string
	// Zone is an IANA name such as "Europe/Dublin"; it is required.
	Zone string
	// Calendar says on which days it works.
	Calendar Calendar

	// Version is what the unit was read with; zero for a new one.
	Version int64
	// SavedOn is when it was last written. Save ignores it.
	SavedOn time.Time
}

// Validate says all that is wrong with u, with an [*InvalidError].
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
