package civil

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTimeOfDayReadsTwoForms(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]TimeOfDay{
		"00:00":    {},
		"09:00":    {Hour: 9},
		"09:00:00": {Hour: 9},
		"09:00:30": {Hour: 9, Second: 30},
		"23:59:59": {Hour: 23, Minute: 59, Second: 59},
	} {
		got, err := ParseTimeOfDay(s)
		if err != nil {
			t.Errorf("ParseTimeOfDay(%q): %v", s, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseTimeOfDay(%q): %s", s, diff)
		}
	}
}

func TestParseTimeOfDayRefusesTheRestAndSaysWhy(t *testing.T) {
	t.Parallel()
	for s, why := range map[string]string{
		"":           "HH:MM",
		"9:00":       "HH:MM",
		"0900":       "HH:MM",
		"09:00:3":    "HH:MM",
		"09:00:30.5": "HH:MM",
		"09:00 ":     "HH:MM",
		"09:00 AM":   "HH:MM",
		"-9:00":      "HH:MM",
		"09:00Z":     "HH:MM",
		"24:00":      "does not exist",
		"09:60":      "does not exist",
		"23:59:60":   "does not exist",
	} {
		tod, err := ParseTimeOfDay(s)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("ParseTimeOfDay(%q) = %v, error %v; want one that says %q", s, tod, err, why)
		}
	}
}

func FuzzParseTimeOfDay(f *testing.F) {
	for _, s := range []string{"09:00", "09:00:30", "24:00", "23:59:60", "9:00", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tod, err := ParseTimeOfDay(s)
		if err != nil {
			if tod != (TimeOfDay{}) {
				t.Errorf("ParseTimeOfDay(%q) = %v besides error %v", s, tod, err)
			}
			return
		}
		canonical := s
		if len(s) == len("09:00:00") {
			canonical = strings.TrimSuffix(s, ":00")
		}
		if !tod.Valid() || tod.String() != canonical {
			t.Errorf("ParseTimeOfDay(%q) = %v, valid %v", s, tod, tod.Valid())
		}
	})
}
