package civil

import (
	"fmt"
	"regexp"
	"sync"
	"time"
)

// zones holds every *time.Location that LoadZone has returned, by name. Only
// names that exist get in, so it cannot grow without bound.
var zones sync.Map

// zoneName is the form of IANA names: America/Port-au-Prince, Etc/GMT+1, UTC.
// Without dots, no name leaves the zone folder. All parts begin with a capital,
// which keeps out what machines add to that folder: localtime, posixrules, and
// right/..., whose zones count leap seconds and are half a minute off.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

// LoadZone returns the zone with an IANA name, such as Europe/London or UTC,
// and remembers it.
//
// It refuses the empty name, Local (another zone on every machine) and whatever
// else is not in the IANA database, with an error that says so. Programs often run in images without any zone data, where every name but
// UTC is unknown: import time/tzdata into the program, or install the tzdata
// package.
func LoadZone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("time zone %q depends on the machine: give an IANA name such as Europe/London", name)
	}
	if !zoneName.MatchString(name) {
		return nil, fmt.Errorf("time zone %.80q is not an IANA name such as Europe/London", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %.80q is unknown: either it is not an IANA name such as Europe/London, "+
			"or there is no zone data here (import time/tzdata, or install the tzdata package): %w", name, err)
	}
	zones.Store(name, loc)
	return loc, nil
}
