package automation_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
)

// Nine o'clock went out when the time of day, or the zone, moves: the day has had its
// occurrence. One that is yet to come moves.
func TestATimeOfDayThatMovesSendsNothingTwice(t *testing.T) {
	t.Parallel()
	nine := func(c *automation.Candidate) {
		c.Recurrence = &automation.Recurrence{RRule: "FREQ=DAILY", Start: date(2026, 1, 1)}
	}
	at := func(sendAt, zone string) automation.Candidate {
		return daily(func(c *automation.Candidate) { nine(c); c.SendAt, c.Zone = sendAt, zone })
	}
	for name, c := range map[string]struct {
		becomes automation.Candidate
		when    time.Time
		want    []string
	}{
		"later, when it went out": {at("10:00", "UTC"), day(2026, 3, 2, 9).Add(30 * time.Minute), []string{
			"03-01T09:00 Completed", "03-02T09:00 Completed", "03-03T09:00 Deactivated Superseded", "03-03T10:00 Pending"}},
		"a zone to the west, when it went out": {at("09:00", "Europe/Lisbon"), day(2026, 3, 2, 9), []string{
			"03-01T09:00 Completed", "03-02T09:00 Completed", "03-03T09:00 Pending"}},
		"a zone far to the west": {at("09:00", "America/New_York"), day(2026, 3, 2, 9), []string{
			"03-01T09:00 Completed", "03-02T09:00 Completed", "03-03T09:00 Deactivated Superseded", "03-03T14:00 Pending"}},
		"later, before it goes out": {at("10:00", "UTC"), day(2026, 3, 2, 8), []string{
			"03-01T09:00 Completed", "03-02T09:00 Deactivated Superseded", "03-02T10:00 Pending"}},
		"once more a day": {cron("0 9,18 * * *"), day(2026, 3, 2, 10), []string{
			"03-01T09:00 Completed", "03-02T09:00 Completed", "03-02T18:00 Pending", "03-03T09:00 Deactivated Superseded"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(nil))
				w.ensure(at("09:00", "UTC"))
				w.pollAt(day(2026, 3, 1, 9))
				w.pollAt(c.when)
				for range 2 {
					w.ensure(c.becomes)
					w.wantShort(c.want...)
				}
			})
		})
	}
}

// A time of day that moves while the occurrence is in retry makes no second one either,
// though only the latest is wanted.
func TestATimeOfDayThatMovesUnderARetry(t *testing.T) {
	t.Parallel()
	for _, latest := range []bool{false, true} {
		t.Run(map[bool]string{false: "each", true: "the latest"}[latest], func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = latest }))
				w.ensure(daily(nil))
				w.clk.Set(day(2026, 3, 1, 9))
				w.claim(time.Minute)
				w.ensure(cron("0 10 * * *"))
				w.clk.Set(day(2026, 3, 1, 11))
				w.poll()
				w.clk.Add(10 * time.Minute)
				w.runAll()
				w.wantShort("03-01T09:00 Completed", "03-02T10:00 Pending")
			})
		})
	}
}
