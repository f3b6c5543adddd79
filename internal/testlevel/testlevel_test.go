package testlevel

import (
	"cmp"
	"strings"
	"testing"
)

func TestTheLevelIsQuickUnlessSaidOtherwise(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Level{"": Quick, "quick": Quick, "check": Check, "nightly": Nightly} {
		if got, err := parse(value, false); got != want || err != nil {
			t.Errorf("%q is %v, %v; want %v", value, got, err, want)
		}
	}
}

// Else who asks for a test on PostgreSQL would see it pass without having run.
func TestARunThatNamesTestsHasThemAll(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Level{"": Check, "quick": Quick, "check": Check, "nightly": Nightly} {
		if got, err := parse(value, true); got != want || err != nil {
			t.Errorf("%q is %v, %v; want %v", value, got, err, want)
		}
	}
}

// A misspelled level would be a quick run that somebody takes for a full one.
func TestAnUnknownLevelIsAnError(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"nightlyy", "CHECK", "1", " check"} {
		_, err := parse(value, false)
		if err == nil || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), "quick, check, nightly") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// ended says how a test ended.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Fatal(...any) { e.how = cmp.Or(e.how, "fails") }
func (e *ended) Skip(...any)  { e.how = cmp.Or(e.how, "is skipped") }

func TestWhatAMachineLacksIsNoticedInCI(t *testing.T) {
	for ci, want := range map[string]string{"true": "fails", "": "is skipped"} {
		t.Setenv("CI", ci)
		e := &ended{TB: t}
		if Lacks(e, "no compiler"); e.how != want {
			t.Errorf("CI=%q: the test %s, want %s", ci, e.how, want)
		}
	}
}
