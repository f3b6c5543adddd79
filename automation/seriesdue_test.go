package automation_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Monday at nine is in retry when the cadence, its zone or its time changes: Monday stays
// and is sent, and the new cadence follows. 2 March 2026 is a Monday.
func TestADueOccurrenceOutlivesItsCadence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		becomes automation.Candidate
		next    string
	}{
		"another day":  {cron("0 9 * * MON,THU"), "03-05T09:00 Pending"},
		"fewer days":   {cron("0 9 * * THU"), "03-05T09:00 Pending"},
		"another time": {cron("0 8 * * *"), "03-03T08:00 Pending"},
		"another zone": {daily(func(c *automation.Candidate) {
			c.Zone, c.Recurrence = "America/New_York", &automation.Recurrence{Cron: "0 3 * * MON"}
		}), "03-09T07:00 Pending"},
	} {
		for _, state := range []string{"in retry", "under a worker", "not looked at"} {
			t.Run(name+"/"+state, func(t *testing.T) {
				eachWorld(t, func(w *world) {
					fails := state == "in retry"
					w.s.Register(certificates(func(t *automation.ReminderType) {
						t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
							if fails {
								return nil, errBoom
							}
							return []notify.Recipient{sam}, nil
						})
					}))
					w.clk.Set(day(2026, 3, 2, 8))
					w.ensure(cron("0 9 * * MON"))
					w.clk.Set(day(2026, 3, 2, 9))
					switch state {
					case "in retry":
						w.poll()
					case "under a worker":
						w.claim(time.Minute)
					}
					fails = false
					w.clk.Add(2 * time.Minute)
					before := w.row(on(day(2026, 3, 2, 9)))
					got := w.ensure(c.becomes)[0]
					if want := map[bool]storage.Outcome{true: storage.InFlight, false: storage.Unchanged}[state == "under a worker"]; got.Outcome != want || got.Key != before.Key {
						w.t.Errorf("%+v, want %s", got, want)
					}
					if after := w.row(before.Key); !after.DueOn.Equal(before.DueOn) || after.TimeZone != "UTC" || after.Status != before.Status {
						w.t.Errorf("%s due on %s in %s", after.Status, after.DueOn, after.TimeZone)
					}
					for range 4 {
						w.clk.Add(10 * time.Minute)
						w.runAll()
					}
					w.wantShort("03-02T09:00 Completed", c.next)
				})
			})
		}
	}
}
