package automation_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// daily recurs at nine every morning.
func daily(change func(*automation.Candidate)) automation.Candidate {
	c := automation.Candidate{Type: "certificate", Source: automation.Source{"employee", "7"}, Zone: "UTC", Recurrence: &automation.Recurrence{Cron: "0 9 * * *"}}
	if change != nil {
		change(&c)
	}
	return c
}

// ofCourse makes a candidate stand for something else under its key.
func ofCourse(course string) func(*automation.Candidate) {
	return func(c *automation.Candidate) { c.Identity = map[string]string{"course": course} }
}

func cron(expr string) automation.Candidate {
	return daily(func(c *automation.Candidate) { c.Recurrence = &automation.Recurrence{Cron: expr} })
}

// on is the key of an occurrence.
func on(t time.Time) string {
	return "reminder:certificate:employee:7:default:recurring:" + t.UTC().Format("2006-01-02T15:04:05Z")
}

// short lists what became of the occurrences, by moment, as "03-01T09:00
// Completed".
func (w *world) short() []string {
	w.t.Helper()
	var out []string
	for key, status := range w.statuses() {
		_, at, _ := strings.Cut(key, ":recurring:")
		out = append(out, at[5:16]+" "+status)
	}
	slices.Sort(out)
	return out
}

func (w *world) wantShort(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.short()); diff != "" {
		w.t.Error(diff)
	}
}

// runAll polls until nothing is due.
func (w *world) runAll() {
	w.t.Helper()
	for w.poll().Claimed > 0 {
	}
}

// lost are the series without a row that could run.
func (w *world) lost() []health.Lost {
	w.t.Helper()
	return w.health(storage.Everywhere()).Lost
}

func TestOnlyTheNextOccurrenceExists(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		first := w.ensure(daily(nil))
		if diff := cmp.Diff([]automation.Ensured{{
			Outcome: storage.Created, Key: on(day(2026, 3, 1, 9)), Status: automation.StatusPending, ScheduledOn: day(2026, 3, 1, 9),
		}}, first); diff != "" {
			w.t.Error(diff)
		}
		w.wantShort("03-01T09:00 Pending")
		if again := w.ensure(daily(nil))[0]; again.Outcome != storage.Unchanged {
			w.t.Error(again)
		}
		w.pollAt(day(2026, 3, 1, 9))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Pending")
		w.pollAt(day(2026, 3, 2, 10))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Completed", "03-03T09:00 Pending")
		if diff := cmp.Diff([]string{on(day(2026, 3, 1, 9)), on(day(2026, 3, 2, 9))}, w.out.dispatched()); diff != "" {
			w.t.Error(diff)
		}
		data := `{"Source":{"Type":"employee","ID":"7"},"TargetDate":"","DaysBefore":0,"Key":"` + on(day(2026, 3, 1, 9)) +
			`","Occurrence":{"LocalDate":"2026-03-01","LocalTime":"09:00","Zone":"UTC"}}`
		if diff := cmp.Diff(data, string(w.out.jobs[0].EventData)); diff != "" {
			w.t.Error(diff)
		}
	})
}

// whatever ends or holds the first occurrence, with the second one's state.
func TestNothingThatBecomesOfAnOccurrenceEndsTheSeries(t *testing.T) {
	t.Parallel()
	nine := day(2026, 3, 1, 9)
	for name, c := range map[string]struct {
		change  func(*automation.ReminderType)
		act     func(w *world)
		retries int
		want    string
	}{
		"failed": {change: func(t *automation.ReminderType) { t.Recipients = failing(automation.Permanent(errBoom)) }, want: "Failed HandlerFailed held PermanentFailure"},
		"panicked": {change: func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { panic("boom") })
		}, retries: 3, want: "Failed HandlerPanicked held RetriesExhausted"},
		"not valid": {change: func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) {
				return automation.NoLongerValid(""), nil
			})
		}, want: "Deactivated SourceNoLongerValid"},
		"nobody": {change: func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil })
		}, want: "Deactivated NoRecipients"},
		"held":      {act: func(w *world) { w.must(w.s.Support().Hold(w.ctx, "", on(nine), ann)) }, want: "Pending held HeldBySupport"},
		"cancelled": {act: func(w *world) { w.must(w.s.Support().Cancel(w.ctx, "", on(nine), ann)) }, want: "Cancelled CancelledBySupport held CancelledBySupport"},
		"cancelled under a worker": {act: func(w *world) {
			w.clk.Set(nine)
			w.claim(time.Minute)
			w.must(w.s.Support().Cancel(w.ctx, "", on(nine), ann))
		}, want: "Cancelled CancelledBySupport held CancelledBySupport"},
		"in conflict": {act: func(w *world) {
			if _, err := w.s.Ensure(w.ctx, daily(ofCourse("b"))); err == nil {
				w.t.Error("no conflict")
			}
		}, want: "Pending held InputConflict"},
		"unreadable":           {act: func(w *world) { w.change(on(nine), func(r *automation.ScheduleRow) { r.LocalDate = "soon" }) }, want: "Failed Undecodable held Undecodable"},
		"delivery in conflict": {act: func(w *world) { w.occupy(on(nine)) }, want: "Failed DeliveryConflict held DeliveryConflict"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(c.change))
				w.ensure(daily(nil))
				if c.act != nil {
					c.act(w)
				}
				w.pollAt(nine)
				for range c.retries { // it stays the current one
					w.wantShort("03-01T09:00 Pending HandlerPanicked")
					w.clk.Add(2 * time.Hour)
					w.poll()
				}
				w.wantShort("03-01T09:00 "+c.want, "03-02T09:00 Pending")
				again := daily(nil)
				if name == "in conflict" {
					again = daily(ofCourse("b"))
				}
				if got := w.ensure(again)[0]; got.Outcome != storage.Unchanged || got.Key != on(day(2026, 3, 2, 9)) {
					w.t.Errorf("%+v", got)
				}
				if len(w.lost()) != 0 {
					w.t.Error("a series without a row")
				}
			})
		})
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// occupy makes a job exist under the identity of a row, for something else.
func (w *world) occupy(key string) {
	w.t.Helper()
	row := w.row(key)
	taken, err := automation.ReminderJob(&row, "certificate")
	w.must(err)
	taken.InputHash = strings.Repeat("0", 64)
	_, err = w.out.Notifier.EnsureNotificationJob(w.ctx, nil, taken)
	w.must(err)
}

// A worker dies again and again over one occurrence; the next is made when
// support has it, once.
func TestAKilledWorkerEndsNoSeries(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil))
		w.clk.Set(day(2026, 3, 1, 9))
		for range 4 {
			if len(w.claim(time.Minute)) != 1 {
				w.t.Fatal("nothing to claim")
			}
			w.wantShort("03-01T09:00 Processing" + map[bool]string{true: " LeaseExpired"}[w.row(on(day(2026, 3, 1, 9))).LeaseLossCount > 0])
			w.clk.Add(2 * time.Minute)
			w.poll()
			w.clk.Add(2 * time.Hour)
		}
		w.wantShort("03-01T09:00 Failed LeaseExpired held RetriesExhausted", "03-02T09:00 Pending")
	})
}

// A row that support brings back completes after the series moved on.
func TestAnOldOccurrenceThatEndsLaterChangesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = true })
		w.begin(p, daily(nil))
		w.must(w.s.Support().Hold(w.ctx, "", on(day(2026, 3, 1, 9)), ann))
		w.clk.Set(day(2026, 3, 5, 10))
		w.runAll()
		w.must(w.s.Support().Release(w.ctx, "", on(day(2026, 3, 1, 9)), ann))
		p.set(daily(nil)) // an event leaves the old one to support
		w.handle(changed(2))
		w.wantShort("03-01T09:00 Pending", "03-02T09:00 Deactivated Overtaken", "03-05T09:00 Completed", "03-06T09:00 Pending")
		w.poll()
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Deactivated Overtaken", "03-05T09:00 Completed", "03-06T09:00 Pending")
	})
}

// withSeries registers the type and makes a series by an event of the source.
func (w *world) withSeries(c automation.Candidate) *triggers {
	w.t.Helper()
	p := w.withTriggers(nil)
	w.begin(p, c)
	return p
}

// begin makes a series by the first event of the source.
func (w *world) begin(p *triggers, c automation.Candidate) {
	w.t.Helper()
	p.set(c)
	w.handle(changed(1))
}

// What support has cancelled stays so when another cadence comes to the same
// day: the series goes on behind it.
func TestACadenceComesToWhatSupportHasCancelled(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil))
		w.must(w.s.Support().Cancel(w.ctx, "", on(day(2026, 3, 1, 9)), ann))
		if got := w.ensure(cron("0 9,21 * * *"))[0]; got.Outcome != storage.Unchanged || got.Key != on(day(2026, 3, 2, 9)) {
			w.t.Errorf("%+v", got)
		}
		w.wantShort("03-01T09:00 Cancelled CancelledBySupport held CancelledBySupport", "03-02T09:00 Pending")
	})
}

func TestACadenceChanges(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil))
		if got := w.ensure(cron("30 10 * * *"))[0]; got.Outcome != storage.Created {
			w.t.Error(got)
		}
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-01T10:30 Pending")
		// The same instant by another rule and zone: the row stays.
		london := daily(func(c *automation.Candidate) {
			c.Zone, c.Recurrence = "Europe/London", &automation.Recurrence{Cron: "30 10 * * SUN"}
		})
		if got := w.ensure(london)[0]; got.Outcome != storage.Updated || got.Key != on(day(2026, 3, 1, 10).Add(30*time.Minute)) {
			w.t.Error(got)
		}
		// One that is due stays, and so does one that a worker has.
		w.clk.Set(day(2026, 3, 1, 11))
		w.claim(time.Minute)
		w.ensure(daily(nil))
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-01T10:30 Processing")
		for range 2 { // the lease is lost, then it is tried again
			w.clk.Add(10 * time.Minute)
			w.poll()
		}
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-01T10:30 Completed", "03-02T09:00 Pending")
		// Back to what was: the row of before is taken again.
		w.clk.Set(day(2026, 3, 2, 8))
		w.ensure(cron("0 10 * * *"))
		if got := w.ensure(daily(nil))[0]; got.Outcome != storage.Reactivated {
			w.t.Error(got)
		}
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-01T10:30 Completed", "03-02T09:00 Pending Superseded", "03-02T10:00 Deactivated Superseded")
	})
}

// A series whose row was lost is found, and ensuring it again mends it.
func TestAMissingRowIsFoundAndMended(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil), daily(func(c *automation.Candidate) { c.TriggerKey = "other" }))
		w.must(w.store.InTx(w.ctx, func(tx storage.Tx) error {
			row, err := automation.Schedules.Get(w.ctx, tx, "", on(day(2026, 3, 1, 9)))
			if err != nil {
				return err
			}
			return automation.Schedules.Delete(w.ctx, tx, row)
		}))
		if len(w.lost()) != 0 {
			w.t.Error("it is not due yet")
		}
		w.clk.Set(day(2026, 3, 1, 9))
		if got := w.lost(); len(got) != 1 || got[0].Key != on(day(2026, 3, 1, 9)) {
			w.t.Errorf("%+v", got)
		}
		h, err := w.s.Health(w.ctx, storage.Everywhere())
		if diff := cmp.Diff([]health.Lost{{Key: on(day(2026, 3, 1, 9)), Kind: "certificate", Since: day(2026, 3, 1, 9)}}, h.Lost); diff != "" || err != nil {
			w.t.Error(diff, err)
		}
		if want := "a series has no row since 2026-03-01T09:00:00Z: " + on(day(2026, 3, 1, 9)); !strings.Contains(h.String(), want) {
			w.t.Error(h)
		}
		if h, err := w.s.Health(w.ctx, storage.Within("b")); len(h.Lost) != 0 || err != nil {
			w.t.Error("another tenant's", h, err)
		}
		if got := w.ensure(daily(nil))[0]; got.Outcome != storage.Created || len(w.lost()) != 0 {
			w.t.Errorf("%+v", got)
		}
	})
}

func TestASeriesThatEnds(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.SendAt = "09:00" }))
		twice := daily(func(c *automation.Candidate) {
			c.Recurrence = &automation.Recurrence{RRule: "FREQ=DAILY;COUNT=2", Start: date(2026, 3, 1)}
		})
		w.ensure(twice)
		w.clk.Set(day(2026, 3, 9, 9))
		w.runAll()
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Completed")
		if got := w.ensure(twice)[0]; got.Outcome != causes.SeriesEnded {
			w.t.Errorf("%+v", got)
		}
		longer := daily(func(c *automation.Candidate) {
			c.Recurrence = &automation.Recurrence{RRule: "FREQ=DAILY", Start: date(2026, 3, 1), End: date(2026, 3, 10)}
		})
		if got := w.ensure(longer)[0]; got.Key != on(day(2026, 3, 10, 9)) {
			w.t.Errorf("%+v", got)
		}
		w.ensure(twice) // shortened: what was to come goes
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Completed", "03-10T09:00 Deactivated Superseded")
	})
}

// The provider says at the moment what the source asks for.
func TestADueOccurrenceIsAskedForWithAnotherInput(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(daily(ofCourse("a")))
		w.ensure(daily(ofCourse("a")))
		w.pollAt(day(2026, 3, 1, 9))
		p.set(daily(ofCourse("b")))
		w.pollAt(day(2026, 3, 2, 9))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Deactivated InputChanged", "03-03T09:00 Pending")
		if was, is := w.row(on(day(2026, 3, 2, 9))), w.row(on(day(2026, 3, 3, 9))); is.InputHash == was.InputHash {
			w.t.Error("the next one stands for what was asked before")
		}
		w.pollAt(day(2026, 3, 3, 9))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Deactivated InputChanged", "03-03T09:00 Completed", "03-04T09:00 Pending")
	})
}
