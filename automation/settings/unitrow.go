package settings

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// unitRow is a row of business_unit. Its key is the unit's id. It is never due.
type unitRow struct {
	storage.Record
	Name     string    `db:"name"`
	Zone     string    `db:"time_zone"`
	Calendar Calendar  `db:"calendar,json"`
	SavedOn  time.Time `db:"saved_on"`
}

var units = storage.Define[unitRow]("business_unit").Limit(maxRow)

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

// says reports whether two rows hold the same unit.
func (r *unitRow) says(other *unitRow) bool {
	return r.Name == other.Name && r.Zone == other.Zone && sameDocument(r.Calendar, other.Calendar)
}
