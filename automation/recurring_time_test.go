package automation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// The occurrences of a week, with the local date and time that the host sees.
func TestOccurrencesOnDaysOnWhichClocksChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone, cron string
		gap        automation.GapPolicy
		from       time.Time
		want       []string // local date and time, and the instant
	}{
		"New York, forward":             {"America/New_York", "30 2 * * *", automation.GapForward, day(2026, 3, 7, 12), []string{"2026-03-08 02:30 03-08T07:00", "2026-03-09 02:30 03-09T06:30"}},
		"New York, skip":                {"America/New_York", "30 2 * * *", automation.GapSkip, day(2026, 3, 7, 12), []string{"2026-03-09 02:30 03-09T06:30", "2026-03-10 02:30 03-10T06:30"}},
		"London":                        {"Europe/London", "30 1 * * *", "", day(2026, 10, 24, 12), []string{"2026-10-25 01:30 10-25T00:30", "2026-10-26 01:30 10-26T01:30"}},
		"Lord Howe":                     {"Australia/Lord_Howe", "15 2 * * *", "", day(2026, 10, 3, 12), []string{"2026-10-04 02:15 10-03T15:30", "2026-10-05 02:15 10-04T15:15"}},
		"Apia":                          {"Pacific/Apia", "0 9 * * *", "", day(2026, 3, 1, 22), []string{"2026-03-03 09:00 03-02T20:00", "2026-03-04 09:00 03-03T20:00"}},
		"New York, late in the evening": {"America/New_York", "0 22 * * *", "", day(2026, 3, 1, 22), []string{"2026-03-01 22:00 03-02T03:00", "2026-03-02 22:00 03-03T03:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				var got []string
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Recipients = automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
						if !d.Occurrence.On.Equal(d.ScheduledOn) || d.Occurrence.Key != d.Key || d.Occurrence.LocalDate != d.LocalDate {
							w.t.Errorf("%+v", d)
						}
						got = append(got, fmt.Sprint(d.Occurrence.LocalDate, " ", d.Occurrence.LocalTime, " ", d.ScheduledOn.Format("01-02T15:04")))
						return toSam(ctx, d)
					})
				}))
				w.clk.Set(c.from)
				w.ensure(daily(func(x *automation.Candidate) {
					x.Zone, x.Gap, x.Recurrence = c.zone, c.gap, &automation.Recurrence{Cron: c.cron}
				}))
				for range 2 {
					for key, row := range w.rows() {
						if row.Status == automation.StatusPending {
							if key != on(row.ScheduledOn) {
								w.t.Errorf("%s at %s", key, row.ScheduledOn)
							}
							w.pollAt(row.ScheduledOn)
							break
						}
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					w.t.Error(diff)
				}
			})
		})
	}
}

func TestPreview(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.clk.Set(day(2026, 3, 7, 12))
		newYork := daily(func(c *automation.Candidate) {
			c.Zone, c.Recurrence = "America/New_York", &automation.Recurrence{Cron: "30 2 * * *"}
		})
		got, err := w.s.Preview(w.ctx, newYork, 2)
		want := []automation.Occurrence{
			{on(day(2026, 3, 8, 7)), date(2026, 3, 8), "02:30", "America/New_York", day(2026, 3, 8, 7), automation.ResolvedForward},
			{on(day(2026, 3, 9, 6).Add(30 * time.Minute)), date(2026, 3, 9), "02:30", "America/New_York", day(2026, 3, 9, 6).Add(30 * time.Minute), automation.ResolvedExact},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.t.Error(diff, err)
		}
		got, err = w.s.Preview(w.ctx, candidate(nil), 5)
		want = []automation.Occurrence{{certificateKey, date(2026, 4, 1), "09:00", "UTC", day(2026, 4, 1, 9), automation.ResolvedExact}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.t.Error(diff, err)
		}
		for _, n := range []int{0, 1001} {
			if _, err := w.s.Preview(w.ctx, newYork, n); err == nil {
				w.t.Error(n)
			}
		}
		if len(w.rows()) != 0 {
			w.t.Error("a preview wrote something")
		}
	})
}

func TestRecurringCandidatesThatAreRefused(t *testing.T) {
	eachWorld(t, func(w *world) {
		for want, c := range map[string]automation.Candidate{
			`TargetDate: goes with no Recurrence: a reminder has one of them`:                   daily(func(c *automation.Candidate) { c.TargetDate = date(2026, 3, 1) }),
			`Threshold: goes with no Recurrence: a reminder has one of them`:                    daily(func(c *automation.Candidate) { c.Threshold = &automation.Threshold{} }),
			`ScheduledOn: is for types that hosts add; a recurring reminder has its Recurrence`: daily(func(c *automation.Candidate) { c.ScheduledOn = start }),
			`SendAt: goes with no Cron, which says itself when`:                                 daily(func(c *automation.Candidate) { c.SendAt = "09:00" }),
			`SendAt: is not set, neither here nor by the type`: daily(func(c *automation.Candidate) {
				c.Recurrence = &automation.Recurrence{RRule: "FREQ=DAILY", Start: date(2026, 3, 1)}
			}),
			`Recurrence: cron 0 9 30 2 * never comes true`: cron("0 9 30 2 *"),
			`Recurrence: neither Cron nor RRule is set`:    cron(""),
			`Zone: time zone "Mars/Olympus" is unknown`:    daily(func(c *automation.Candidate) { c.Zone = "Mars/Olympus" }),
			`Gap, Overlap: gap policy "jump"`:              daily(func(c *automation.Candidate) { c.Gap = "jump" }),
			`source: holds`:                                daily(func(c *automation.Candidate) { c.Source.ID = "7:8" }),
			`Recurrence: is for reminders`:                 {AutomationType: "export", Source: automation.Source{"file", "1"}, ScheduledOn: start, Recurrence: &automation.Recurrence{Cron: "@daily"}},
		} {
			out, err := w.s.Ensure(w.ctx, daily(func(c *automation.Candidate) { c.TriggerKey = "good" }), c)
			var refused *automation.CandidateError
			if !errors.As(err, &refused) || refused.Index != 1 || !strings.Contains(err.Error(), want) || out != nil {
				w.t.Errorf("%v, want %s", err, want)
			}
		}
		if _, err := w.s.Ensure(w.ctx, daily(nil), cron("0 10 * * *")); err == nil || !strings.Contains(err.Error(), "another candidate of the call says otherwise") {
			w.t.Error(err)
		}
		if len(w.rows()) != 0 {
			w.t.Error("something was written")
		}
		same := w.ensure(daily(nil), daily(nil)) // twice the same is no matter
		if same[0].Outcome != storage.Created || same[1].Key != same[0].Key || len(w.rows()) != 1 {
			w.t.Errorf("%+v", same)
		}
	})
}

// Series of two tenants with equal names have nothing in common.
func TestI28_SeriesOfTwoTenants(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil), daily(func(c *automation.Candidate) { c.Scope = "b" }))
		w.must(w.s.Support().Cancel(w.ctx, "b", on(day(2026, 3, 1, 9)), ann))
		w.wantShort("03-01T09:00 Pending")
		if row := w.rowIn("b", on(day(2026, 3, 2, 9))); row.Status != automation.StatusPending {
			w.t.Errorf("%+v", row)
		}
	})
}

// A rule that this machine cannot read keeps no row from being settled; Health
// lists its series.
func TestACadenceThatCannotBeRead(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil))
		w.must(w.store.InTx(w.ctx, func(tx storage.Tx) error {
			all, err := automation.SeriesTable.Find(w.ctx, tx, "", driver.Query{Limit: 10})
			if err != nil {
				return err
			}
			all[0].Cron = "by a version to come"
			return automation.SeriesTable.Save(w.ctx, tx, all...)
		}))
		w.pollAt(day(2026, 3, 1, 9))
		w.wantShort("03-01T09:00 Completed")
		if len(w.lost()) != 1 {
			w.t.Error("Health would not list it")
		}
		w.ensure(daily(nil))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Pending")
	})
}

func TestExplainTellsTheCadence(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(nil))
		w.pollAt(day(2026, 3, 1, 9))
		for _, key := range []string{on(day(2026, 3, 1, 9)), on(day(2026, 3, 5, 9))} { // the second has no row
			e, err := w.s.Explain(w.ctx, "", key)
			if err != nil || !strings.Contains(e.String(), "  recurs: cron 0 9 * * *, UTC; next 2026-03-02T09:00:00Z\n") {
				w.t.Error(e, err)
			}
			want := &automation.SeriesState{Active: true, Cadence: "cron 0 9 * * *", Zone: "UTC", Next: day(2026, 3, 2, 9)}
			if diff := cmp.Diff(want, e.Series); diff != "" {
				w.t.Error(diff)
			}
		}
	})
}
