package recur_test

import (
	"testing"

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
