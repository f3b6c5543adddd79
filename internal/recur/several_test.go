package recur_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/recur"
)

func TestSeveralADay(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]bool{
		"FREQ=DAILY": false, "FREQ=WEEKLY;BYDAY=MO,TH": false, "FREQ=DAILY;BYHOUR=9": false,
		"FREQ=HOURLY": true, "FREQ=MINUTELY;INTERVAL=5": true, "FREQ=DAILY;BYHOUR=9,18": true, "FREQ=DAILY;BYMINUTE=0,30": true,
	} {
		c, err := recur.Parse(recur.Spec{RRule: rule, Start: civil.Date{Year: 2026, Month: 3, Day: 1}})
		if err != nil || c.SeveralADay() != want {
			t.Errorf("%s: %v", rule, err)
		}
	}
	for rule, want := range map[string]bool{
		"0 9 * * MON,THU": false, "@daily": false, "@hourly": true, "0 9,18 * * *": true, "*/5 9 * * *": true, "0 9-10 * * *": true,
	} {
		c, err := recur.Parse(recur.Spec{Cron: rule})
		if err != nil || c.SeveralADay() != want {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// Days that are left out are none of the cadence, and count in a COUNT all the same.
func TestDaysAreLeftOut(t *testing.T) {
	t.Parallel()
	march := func(day int) civil.Date { return civil.Date{Year: 2026, Month: 3, Day: day} }
	for name, c := range map[string]struct {
		spec recur.Spec
		want []string
	}{
		"cron":        {recur.Spec{Cron: "0 9,17 * * *", Start: march(1), End: march(4)}, []string{"03-01T09", "03-01T17", "03-04T09", "03-04T17"}},
		"RRULE":       {recur.Spec{RRule: "FREQ=DAILY;COUNT=4", Start: march(1), At: civil.TimeOfDay{Hour: 9}}, []string{"03-01T09", "03-04T09"}},
		"the last":    {recur.Spec{RRule: "FREQ=DAILY;COUNT=3", Start: march(1), At: civil.TimeOfDay{Hour: 9}}, []string{"03-01T09"}},
		"of a Sunday": {recur.Spec{RRule: "FREQ=WEEKLY;BYDAY=SU;COUNT=2", Start: march(1), At: civil.TimeOfDay{Hour: 9}}, []string{"03-01T09", "03-08T09"}},
	} {
		c.spec.Except = []civil.Date{march(3), march(2), march(3)}
		cadence, err := recur.Parse(c.spec)
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		line := recur.Timeline{Cadence: cadence, Zone: time.UTC}
		for _, o := range line.Preview(time.Time{}, 9) {
			got = append(got, o.Local.Format("01-02T15"))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
		if spec := cadence.Spec(); !slices.Equal(spec.Except, []civil.Date{march(2), march(3)}) {
			t.Error(spec.Except)
		}
	}
	for want, except := range map[string][]civil.Date{
		"a date of Except does not exist: 2026-02-30": {{Year: 2026, Month: 2, Day: 30}},
		"the Except dates are 367, more than 366":     make([]civil.Date, 367),
		"cron 0 9 * * * never comes true from 202":    {march(1)},
	} {
		_, err := recur.Parse(recur.Spec{Cron: "0 9 * * *", Start: march(1), End: march(1), Except: except})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
