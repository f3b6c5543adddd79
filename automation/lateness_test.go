package automation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// A week without processes, of an occurrence a day.
func TestAfterAWeekWithoutProcesses(t *testing.T) {
	t.Parallel()
	var all []string
	for d := 1; d <= 8; d++ {
		all = append(all, fmt.Sprintf("03-%02dT09:00 Completed", d))
	}
	for name, c := range map[string]struct {
		lateness automation.Lateness
		want     []string
	}{
		"every one runs":     {automation.Lateness{}, append(all, "03-09T09:00 Pending")},
		"only the latest":    {automation.Lateness{OnlyLatest: true}, []string{"03-01T09:00 Deactivated Overtaken", "03-08T09:00 Completed", "03-09T09:00 Pending"}},
		"those behind it go": {automation.Lateness{SkipOverlapped: true}, []string{"03-01T09:00 Completed", "03-09T09:00 Pending"}},
		"too late":           {automation.Lateness{Window: time.Hour}, []string{"03-01T09:00 Deactivated TooLate", "03-09T09:00 Pending"}},
		"some are not":       {automation.Lateness{Window: 30 * time.Hour}, []string{"03-01T09:00 Deactivated TooLate", "03-07T09:00 Completed", "03-08T09:00 Completed", "03-09T09:00 Pending"}},
		"late and overtaken": {automation.Lateness{Window: 30 * time.Hour, OnlyLatest: true}, []string{"03-01T09:00 Deactivated TooLate", "03-07T09:00 Deactivated Overtaken", "03-08T09:00 Completed", "03-09T09:00 Pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness = c.lateness }))
				w.ensure(daily(nil))
				w.clk.Set(day(2026, 3, 8, 12))
				w.runAll()
				w.wantShort(c.want...)
			})
		})
	}
}

// An occurrence is tried again while the moments of others come.
func TestOccurrencesThatComeWhileOneIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lateness automation.Lateness
		want     []string
	}{
		"they run afterwards":  {automation.Lateness{}, []string{"03-01T08:01 Completed HandlerFailed", "03-01T08:02 Completed", "03-01T08:03 Completed"}},
		"they are left out":    {automation.Lateness{SkipOverlapped: true}, []string{"03-01T08:01 Completed HandlerFailed"}},
		"the latest overtakes": {automation.Lateness{OnlyLatest: true}, []string{"03-01T08:01 Deactivated Overtaken"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				fail := true
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Lateness = c.lateness
					t.Recipients = automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
						if fail {
							return nil, errBoom
						}
						return toSam(ctx, d)
					})
				}))
				w.ensure(cron("* * * * *"))
				w.pollAt(start.Add(time.Minute))
				w.wantShort("03-01T08:01 Pending HandlerFailed")
				fail = false
				w.clk.Set(start.Add(20 * time.Minute))
				w.runAll()
				got := w.short()
				for i, want := range c.want {
					if strings.Replace(got[i], "Completed HandlerFailed", "Completed", 1) != strings.Replace(want, "Completed HandlerFailed", "Completed", 1) {
						w.t.Errorf("%v, want %v", got, c.want)
					}
				}
				if last := got[len(got)-1]; last != "03-01T08:21 Pending" {
					w.t.Error(got)
				}
				if n := len(got); n != map[bool]int{true: 21, false: len(c.want) + 1}[name == "they run afterwards"] && name != "the latest overtakes" {
					w.t.Error(got)
				}
			})
		})
	}
}

// Offsets of one date that are due together.
func TestOnlyTheLatestOffsetRuns(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = true }))
		var all []automation.Candidate
		for _, days := range []int{30, 7, 1} {
			all = append(all, candidate(func(c *automation.Candidate) { c.DaysBefore = days }))
		}
		all = append(all, candidate(func(c *automation.Candidate) { c.TriggerKey = "other" }), candidate(func(c *automation.Candidate) { c.Source.ID = "8" }))
		w.ensure(all...)
		w.must(w.s.Support().Hold(w.ctx, "", key("2026-05-01", "1"), ann)) // what is held overtakes nobody
		w.pollAt(day(2026, 5, 2, 9))
		want := map[string]string{
			certificateKey: "Deactivated Overtaken", key("2026-05-01", "7"): "Completed", key("2026-05-01", "1"): "Pending held HeldBySupport",
			"reminder:certificate:employee:7:other:2026-05-01:30":   "Completed",
			"reminder:certificate:employee:8:default:2026-05-01:30": "Completed",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// A condition that was met on each day of an outage is told of once.
func TestOnlyTheLatestDayOfAConditionRuns(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = true })
		full := func(value string) automation.Candidate {
			return automation.Candidate{Zone: "UTC", Threshold: &threshold.Threshold{Metric: "occupancy", Value: value, Reading: "0.97", Policy: threshold.OncePerDay}}
		}
		p.set(full("0.9"), full("0.95"))
		for d := range 5 {
			w.clk.Set(day(2026, 3, 1+d, 9))
			w.handle(changed(int64(d + 1)))
		}
		w.runAll()
		got := map[string]int{}
		for _, status := range w.statuses() {
			got[status]++
		}
		if diff := cmp.Diff(map[string]int{"Completed": 2, "Deactivated Overtaken": 8}, got); diff != "" {
			w.t.Error(diff, w.statuses())
		}
	})
}

// overtaken has by write schedules just before a transaction saves some. It is
// given that transaction.
func overtaken(by func(storage.Tx)) func(storetest.Call) error {
	return func(c storetest.Call) error {
		if c.Verb == storetest.Update && c.Table == automation.Schedules.Name {
			by(c.Tx)
		}
		return nil
	}
}

// Between the moment at which an event reads its rows and the one at which it
// ends them, a worker claims one of the two. Memory and SQLite let one
// transaction write at a time, so the claim is made in the event's own; on
// PostgreSQL it is also made, and committed, by a transaction beside it.
func TestI18_AnEventEndsARowThatAWorkerClaimsMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		endsAClaimedRow(t, store, clk, (*world).claimIn)
	})
	t.Run("postgres, beside it", func(t *testing.T) {
		t.Parallel()
		clk := clock.NewMock()
		clk.Set(start)
		endsAClaimedRow(t, storetest.Postgres(t, clk), clk, func(w *world, _ storage.Tx, lease time.Duration) []*automation.ScheduleRow {
			return w.claim(lease)
		})
	})
}

func endsAClaimedRow(t *testing.T, store storage.Store, clk *clock.Mock, claim func(*world, storage.Tx, time.Duration) []*automation.ScheduleRow) {
	t.Helper()
	s := &storetest.Spy{Store: store}
	w := newWorld(t, s, clk, nil)
	p := w.withTriggers(nil)
	p.set(offsets(date(2026, 5, 1), 30, 7)...)
	w.handle(changed(1))
	clk.Set(day(2026, 4, 1, 9))
	var claimed []*automation.ScheduleRow
	s.SetHook(overtaken(func(tx storage.Tx) {
		s.SetHook(nil) // once
		claimed = claim(w, tx, time.Minute)
	}))
	p.set()
	got := w.handle(changed(2)).Deactivated
	if len(claimed) != 1 || claimed[0].Key != key("2026-05-01", "30") {
		t.Fatalf("the worker claimed %+v", claimed)
	}
	slices.SortFunc(got, func(a, b automation.Deactivation) int { return strings.Compare(a.Key, b.Key) })
	want := []automation.Deactivation{{key("2026-05-01", "30"), reasons.Superseded}, {key("2026-05-01", "7"), reasons.Superseded}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, d := range want {
		if row := w.row(d.Key); row.Status != automation.StatusDeactivated || row.ReasonCode != reasons.Superseded || row.EventID != "e2" || !row.DueOn.IsZero() {
			t.Errorf("%+v", row)
		}
	}
	err := store.InTx(w.ctx, func(tx storage.Tx) error { return automation.Schedules.Save(w.ctx, tx, claimed...) })
	if !errors.Is(err, storage.ErrStale) {
		t.Errorf("the worker could still write: %v", err)
	}
}

// Whoever keeps writing the rows must not keep the event for ever.
func TestAnEventGivesUpOnRowsThatKeepChanging(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		s := &storetest.Spy{Store: store}
		w := newWorld(t, s, clk, nil)
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		before := w.rows()
		times := 0
		s.SetHook(overtaken(func(tx storage.Tx) {
			times++
			row, err := automation.Schedules.Get(w.ctx, tx, "", certificateKey)
			if err == nil {
				err = automation.Schedules.Save(w.ctx, tx, row)
			}
			if err != nil {
				t.Error(err)
			}
		}))
		p.set()
		if _, err := w.s.HandleEvent(w.ctx, changed(2)); !errors.Is(err, storage.ErrBusy) || times != 100 {
			t.Errorf("%v after %d times", err, times)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			t.Error("half-written:", diff)
		}
	})
}
