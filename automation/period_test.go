package automation_test

import (
	"context"
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
			"03-01T09:00 Completed", "03-02T09:00 Completed", "03-03T09:00 Pending"}},
		"daily becomes monthly": {cron("0 10 2 * *"), day(2026, 3, 2, 9).Add(30 * time.Minute), []string{
			"03-01T09:00 Completed", "03-02T09:00 Completed", "03-03T09:00 Deactivated Superseded", "04-02T10:00 Pending"}},
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

// Of two cadences with several a day the times count, else the date alone.
func TestATimeOfADayThatHadOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		becomes string
		want    []string
	}{
		"once a day": {"0 10 * * *", []string{
			"03-01T09:00 Completed", "03-01T17:00 Deactivated Superseded", "03-02T10:00 Pending"}},
		"several": {"0 9,10,17 * * *", []string{
			"03-01T09:00 Completed", "03-01T10:00 Pending", "03-01T17:00 Deactivated Superseded"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(nil))
				w.ensure(cron("0 9,17 * * *"))
				w.pollAt(day(2026, 3, 1, 9).Add(30 * time.Minute))
				w.ensure(cron(c.becomes))
				w.wantShort(c.want...)
			})
		})
	}
}

// An occurrence that was stopped stays so, and the day before it has had its own.
func TestAStoppedOccurrenceDoesNotReturnAtAnotherTime(t *testing.T) {
	t.Parallel()
	tuesday := on(day(2026, 3, 3, 9))
	for name, c := range map[string]struct {
		stop func(w *world)
		want string
	}{
		"cancelled": {func(w *world) { w.must(w.s.Support().Cancel(w.ctx, "", tuesday, ann)) },
			"Cancelled CancelledBySupport held CancelledBySupport"},
		"held": {func(w *world) { w.must(w.s.Support().Hold(w.ctx, "", tuesday, ann)) },
			"Pending held HeldBySupport"},
		"ended by the host": {func(w *world) {
			w.handle(automation.Event{ID: "h", Type: "holiday", Source: automation.Source{"employee", "7"}})
		},
			"Deactivated Holiday"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				p := &triggers{candidates: []automation.Candidate{cron("0 9 * * *")}}
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Triggers = p
					t.Invalidations = skipped{tuesday}
				}))
				w.handle(changed(1))
				w.pollAt(day(2026, 3, 1, 9))
				w.pollAt(day(2026, 3, 2, 9))
				c.stop(w)
				w.clk.Set(day(2026, 3, 2, 9).Add(30 * time.Minute))
				p.set(cron("0 10 * * *"))
				for version := range int64(2) {
					w.handle(changed(2 + version))
					w.wantShort("03-01T09:00 Completed", "03-02T09:00 Completed", "03-03T09:00 "+c.want,
						"03-04T09:00 Deactivated Superseded", "03-04T10:00 Pending")
				}
			})
		})
	}
}

// skipped ends one occurrence when there is a holiday.
type skipped struct{ key string }

func (skipped) EventTypes() []string { return []string{"holiday"} }

func (s skipped) Invalidations(context.Context, automation.Event) ([]automation.Invalidation, error) {
	return []automation.Invalidation{{Setting: "certificate", Keys: []string{s.key}, Reason: "Holiday"}}, nil
}

// What was stopped weeks ahead is remembered when a denser cadence comes to it.
func TestAStoppedOccurrenceIsRememberedWhenTheSeriesComesToIt(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(cron("0 9 * * MON"))
		for _, d := range []int{2, 9} {
			w.must(w.s.Support().Cancel(w.ctx, "", on(day(2026, 3, d, 9)), ann))
		}
		w.clk.Set(day(2026, 3, 6, 12))
		w.ensure(cron("0 10 * * *"))
		for d := 7; d <= 10; d++ {
			w.pollAt(day(2026, 3, d, 10))
		}
		w.wantShort("03-02T09:00 Cancelled CancelledBySupport held CancelledBySupport", "03-07T10:00 Completed", "03-08T10:00 Completed",
			"03-09T09:00 Cancelled CancelledBySupport held CancelledBySupport", "03-10T10:00 Completed", "03-11T10:00 Pending", "03-16T09:00 Deactivated Superseded")
	})
}

// A day that began early in the east has had its own when a zone far behind comes to it.
func TestADayOfAZoneAheadIsRememberedByOneBehind(t *testing.T) {
	eachWorld(t, func(w *world) {
		in := func(expr, zone string) automation.Candidate {
			return daily(func(c *automation.Candidate) { c.Recurrence, c.Zone = &automation.Recurrence{Cron: expr}, zone })
		}
		w.s.Register(certificates(nil))
		w.ensure(in("0 9 * * MON", "Pacific/Kiritimati"))
		w.pollAt(day(2026, 3, 1, 19)) // Monday there
		w.clk.Set(day(2026, 3, 1, 20))
		w.ensure(in("0 9 * * *", "Etc/GMT+12"))
		w.pollAt(day(2026, 3, 1, 21)) // Sunday here, and Monday has gone
		w.wantShort("03-01T19:00 Completed", "03-01T21:00 Completed", "03-03T21:00 Pending", "03-08T19:00 Deactivated Superseded")
	})
}

// What ends a series, and what moves it, has stopped nothing: the day has its own at
// another time.
func TestASeriesThatWasEndedBeforeItsMomentMayHaveItsDay(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(cron("0 9 * * *"))
		w.handle(changed(1))
		p.set()
		w.handle(changed(2))
		p.set(cron("0 10 * * *"))
		w.handle(changed(3))
		p.set(cron("0 11 * * *"))
		w.handle(changed(4))
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-01T10:00 Deactivated Superseded", "03-01T11:00 Pending")
		_, err := w.s.Deactivate(w.ctx, "", "certificate", automation.Source{"employee", "7"}, "OnLeave")
		w.must(err)
		p.set(cron("0 12 * * *"))
		w.handle(changed(5))
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-01T10:00 Deactivated Superseded", "03-01T11:00 Deactivated OnLeave", "03-01T12:00 Pending")
	})
}

// Only the latest of several is wanted, and that one was stopped.
func TestTheLatestOfSeveralThatWasStoppedIsNotDone(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = true }))
		w.ensure(cron("0 9 * * TUE"))
		w.must(w.s.Support().Cancel(w.ctx, "", on(day(2026, 3, 3, 9)), ann))
		w.ensure(cron("0 10 * * *"))
		w.clk.Set(day(2026, 3, 3, 12))
		w.runAll()
		w.wantShort("03-01T10:00 Deactivated Overtaken", "03-02T10:00 Completed", "03-03T09:00 Cancelled CancelledBySupport held CancelledBySupport",
			"03-04T10:00 Pending", "03-10T09:00 Deactivated Superseded")
	})
}

// Two zones name two dates of one instant: the occurrence that comes back stands for that of
// now, and a date has one all the same.
func TestAnOccurrenceThatComesBackStandsForTheDateOfNow(t *testing.T) {
	eachWorld(t, func(w *world) {
		in := func(expr, zone string) automation.Candidate {
			return daily(func(c *automation.Candidate) { c.Recurrence, c.Zone = &automation.Recurrence{Cron: expr}, zone })
		}
		w.s.Register(certificates(nil))
		w.ensure(in("0 18 2 * *", "Etc/GMT+4")) // on the second at 22:00 in UTC,
		w.ensure(in("0 9 * * *", "UTC"))
		w.pollAt(day(2026, 3, 1, 9))
		w.ensure(in("0 7 3 * *", "Etc/GMT-9")) // and on the third there
		w.pollAt(day(2026, 3, 2, 22))
		w.ensure(in("0 9 * * *", "Etc/GMT-9"))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Deactivated Superseded", "03-02T22:00 Completed", "03-04T00:00 Pending", "04-02T22:00 Deactivated Superseded")
	})
}
