package civil

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"pgregory.net/rapid"
)

// zone loads a zone that every release of the IANA data has.
func zone(t rapid.TB, name string) *time.Location {
	t.Helper()
	loc, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestLoadZoneRemembersZones(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/London", "America/Port-au-Prince", "Etc/GMT+12", "America/Argentina/Ushuaia"} {
		first, again := zone(t, name), zone(t, name)
		if first != again || first.String() != name {
			t.Errorf("LoadZone(%q) gave %v at %p, then %p", name, first, first, again)
		}
	}
}

func TestLoadZoneRefusesWhatIsNotAnIANAName(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]string{
		"":                        `"" is not an IANA name`,
		"Local":                   "depends on the machine",
		"localtime":               "not an IANA name",
		"right/Europe/London":     "not an IANA name",
		"posix/Europe/London":     "not an IANA name",
		"../zoneinfo/UTC":         "not an IANA name",
		"Europe/../Europe/London": "not an IANA name",
		"/Europe/London":          "not an IANA name",
		"Europe/":                 "not an IANA name",
		"Europe//London":          "not an IANA name",
		`Europe\London`:           "not an IANA name",
		"Europe/London\x00":       "not an IANA name",
		"Europe/London\n":         "not an IANA name",
		"+01:00":                  "not an IANA name",
		"Europe/Londinium":        "time/tzdata",
		"Europe":                  "time/tzdata",
	} {
		loc, err := LoadZone(name)
		if err == nil || loc != nil || !strings.Contains(err.Error(), why) {
			t.Errorf("LoadZone(%q) = %v, error %v; want one that says %q", name, loc, err, why)
		}
	}
}
