package storable_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/internal/storable"
)

func TestAllThatIsWrongIsSaidInOrder(t *testing.T) {
	t.Parallel()
	var f storable.Faults
	f.Scope("\x00any")
	f.Scope("a:b")
	f.Scope("")
	f.Part("ID", "")
	f.Part("Type", "report")
	f.Optional("Unit", "")
	f.Optional("Team", "a\x00")
	f.Because("Zone", nil)
	f.Because("SendAt", errors.New("100% wrong"))
	f.Add("Offsets[3]", "%d days is too much", 9999)
	want := "Scope: holds the control character U+0000 at byte 0; Scope: holds ':' at byte 1; ID: is empty; " +
		"Team: holds the control character U+0000 at byte 1; SendAt: 100% wrong; Offsets[3]: 9999 days is too much"
	if diff := cmp.Diff(want, f.String()); diff != "" {
		t.Error(diff)
	}
	if !f.Has("Zone", "SendAt") || f.Has("Zone", "Offsets") {
		t.Error("what has a fault:", f)
	}
}

func TestACadenceIsOneOfTwoBetweenDaysThatExist(t *testing.T) {
	t.Parallel()
	first, last, never := civil.Date{Year: 2026, Month: 3, Day: 2}, civil.Date{Year: 2026, Month: 3, Day: 9}, civil.Date{Year: 2026, Month: 2, Day: 30}
	for _, c := range []struct {
		spec recur.Spec
		want string
	}{
		{recur.Spec{Cron: "never"}, ""}, // only recur.Parse knows
		{recur.Spec{RRule: "FREQ=DAILY", Start: first, End: last}, ""},
		{recur.Spec{Cron: "@daily", Start: first, End: first}, ""},
		{recur.Spec{}, "Cadence: needs Cron or RRule"},
		{recur.Spec{Cron: "@daily", RRule: "FREQ=DAILY"}, "Cadence: has both Cron and RRule"},
		{recur.Spec{RRule: "FREQ=DAILY"}, "Cadence.Start: is required with RRule, which counts from it"},
		{recur.Spec{Cron: "@daily", Start: never, End: never}, "Cadence.Start: 2026-02-30 does not exist; Cadence.End: 2026-02-30 does not exist"},
		{recur.Spec{Cron: "@daily", Start: last, End: first}, "Cadence.End: 2026-03-02 is before Start"},
	} {
		var f storable.Faults
		f.Cadence(c.spec)
		if diff := cmp.Diff(c.want, f.String()); diff != "" {
			t.Error(c.spec, diff)
		}
	}
}
