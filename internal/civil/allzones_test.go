package civil

import (
	"archive/zip"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// zoneNames lists the IANA names that Go's own copy of the zone data has.
func zoneNames(t *testing.T) []string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	var names []string
	for _, f := range data.File {
		if !strings.HasSuffix(f.Name, "/") && zoneName.MatchString(f.Name) {
			names = append(names, f.Name)
		}
	}
	if len(names) < 400 {
		t.Fatalf("only %d zones", len(names))
	}
	return names
}

// TestEveryChangeOfEveryZoneFrom1990To2037 looks at the readings around each of
// them: those that exist once are shown by the instant they became, and the
// policies are exact to the second inside a gap and inside an overlap. Dates
// that a zone skipped as a whole (Apia lost 30 December 2011) are gaps of a day.
func TestEveryChangeOfEveryZoneFrom1990To2037(t *testing.T) {
	t.Parallel()
	gaps, overlaps, days := 0, 0, 0
	for _, name := range zoneNames(t) {
		loc, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range changesBetween(loc, 1990, 2037) {
			before, after := showAt(at-1, loc)+1, showAt(at, loc)
			wantOnce(t, loc, min(before, after)-1)
			wantOnce(t, loc, max(before, after))
			switch {
			case before < after:
				gaps++
				if after-before >= daySecs {
					days++
				}
				wantGap(t, loc, at, []int64{before, (before + after) / 2, after - 1})
			case after < before:
				overlaps++
				wantOverlap(t, loc, at, before-after, []int64{after, (before + after) / 2, before - 1})
			}
		}
	}
	t.Logf("%d gaps (%d of a whole day), %d overlaps", gaps, days, overlaps)
	if gaps < 5000 || overlaps < 5000 || days < 3 {
		t.Errorf("%d gaps (%d of a whole day) and %d overlaps: the data is not what it should be", gaps, days, overlaps)
	}
}

// changesBetween finds the changes of the clocks that zone data knows.
func changesBetween(loc *time.Location, first, last int) []int64 {
	var out []int64
	for _, at := range changesOf(loc) {
		if year := time.Unix(at, 0).UTC().Year(); first <= year && year <= last {
			out = append(out, at)
		}
	}
	return out
}

func wantOnce(t *testing.T, loc *time.Location, reading int64) {
	t.Helper()
	m := momentAt(reading, loc)
	at, how, err := Resolve(m.d, m.tod, loc, Policy{})
	if err != nil || how != Exact || showAt(at.Unix(), loc) != reading {
		t.Errorf("%v %v in %v: %v, %v, %v", m.d, m.tod, loc, at, how, err)
	}
}

func wantGap(t *testing.T, loc *time.Location, change int64, readings []int64) {
	t.Helper()
	for _, reading := range readings {
		m := momentAt(reading, loc)
		forward, _, err := Resolve(m.d, m.tod, loc, Policy{})
		back, _, errBack := Resolve(m.d, m.tod, loc, Policy{Gap: ShiftBack})
		_, _, errSkip := Resolve(m.d, m.tod, loc, Policy{Gap: Skip})
		if err != nil || errBack != nil || !errors.Is(errSkip, ErrSkipped) || forward.Unix() != change || back.Unix() != change-1 {
			t.Errorf("gap at %v %v in %v: forward %v, back %v, skip %v", m.d, m.tod, loc, forward, back, errSkip)
		}
	}
}

func wantOverlap(t *testing.T, loc *time.Location, change, width int64, readings []int64) {
	t.Helper()
	for _, reading := range readings {
		m := momentAt(reading, loc)
		first, how, err := Resolve(m.d, m.tod, loc, Policy{})
		second, howSecond, errSecond := Resolve(m.d, m.tod, loc, Policy{Overlap: Second})
		ok := err == nil && errSecond == nil && how == FirstOfTwo && howSecond == SecondOfTwo &&
			first.Unix() < change && second.Unix() >= change && second.Unix()-first.Unix() == width &&
			showAt(first.Unix(), loc) == reading && showAt(second.Unix(), loc) == reading
		if !ok {
			t.Errorf("overlap at %v %v in %v: %v (%v), %v (%v)", m.d, m.tod, loc, first, how, second, howSecond)
		}
	}
}
