package automation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

const days = 24 * time.Hour

// forMonth keeps ended rows for thirty days.
func forMonth(t *automation.ReminderType) { t.Retention = automation.Retention{After: 30 * days} }

func (w *world) retain() automation.RetentionReport {
	w.t.Helper()
	report, err := w.s.Maintenance().Retain(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

func TestWhatEndedLongAgoIsDeletedAndNeverSentAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(forMonth))
		w.ensure(of("north", "certificate", 1), candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		for _, on := range []time.Time{day(2026, 4, 1, 10), day(2026, 5, 1, 9).Add(-time.Microsecond)} {
			w.clk.Set(on)
			if got := w.retain(); got != (automation.RetentionReport{}) {
				w.t.Errorf("%s: %+v", on, got)
			}
		}
		w.clk.Set(day(2026, 5, 1, 9))
		if got := w.retain(); got != (automation.RetentionReport{Deleted: 2}) {
			w.t.Errorf("%+v", got)
		}
		if got := w.ensure(candidate(nil)); got[0].Outcome != causes.OffsetPassed {
			w.t.Errorf("a repeated event asks for it again: %+v", got)
		}
		w.poll()
		if got := w.out.dispatched(); len(got) != 2 || len(w.rows()) != 0 {
			w.t.Errorf("%v %v", got, w.rows())
		}
	})
}

// A row is the memory that keeps its work from happening twice: whenever it is
// gone, whoever asks for its key again, at whatever time of that day in whatever
// zone and under a calendar that has changed, is told that the moment passed.
func TestNoKeyIsForgottenThatCouldBeAskedForAgain(t *testing.T) {
	for name, catchUp := range map[string]time.Duration{"as usual": 0, "an hour": time.Hour, "sixty days": 60 * days} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				moved := 0
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Lateness.CatchUp = catchUp
					t.Retention = automation.Retention{After: days}
					t.BusinessDay = func(_ context.Context, _ automation.Scope, _ string, d automation.Date) (automation.Date, error) {
						return d.AddDays(moved), nil
					}
				}))
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 9))
				moved = 3
				late := candidate(func(c *automation.Candidate) { c.SendAt, c.Zone = "23:59:59", "Etc/GMT+12" })
				gone := false
				for n := 0; n < 400 && !gone; n++ {
					w.clk.Add(6 * time.Hour)
					gone = w.retain().Deleted == 1
				}
				other := automation.New(w.store, w.out, &w.opts) // serves nothing, so it has the usual CatchUp
				for _, s := range []*automation.Scheduler{w.s, other} {
					if got, err := s.Ensure(w.ctx, late); !gone || err != nil || got[0].Outcome != causes.OffsetPassed {
						w.t.Errorf("deleted %t, on %s, and then %+v, %v", gone, w.clk.Now(), got, err)
					}
				}
			})
		})
	}
}

func TestOpenRowsAndHoldsStayForEver(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			forMonth(t)
			t.Recipients = failing(automation.Permanent(errBoom))
		}))
		w.ensure(candidate(nil), of("", "certificate", 1), of("", "certificate", 2))
		w.ensure(candidate(func(c *automation.Candidate) { c.TargetDate, c.TriggerKey = date(2036, 5, 1), "pending" }))
		w.pollAt(day(2026, 4, 1, 9)) // Failed, and on hold
		w.change(certificateKey, func(r *automation.ScheduleRow) {
			r.IsOnSupportHold = false
			automation.EndRow(r, driver.Now(w.store), reasons.Superseded)
			automation.HoldRow(r, reasons.HeldBySupport, "")
		})
		w.change("reminder:certificate:employee:7:1:2026-05-01:30", func(r *automation.ScheduleRow) {
			r.IsOnSupportHold = false
			automation.MoveRow(r, driver.Now(w.store), automation.StatusCancelled)
		})
		before := w.statuses()
		w.clk.Set(day(2028, 4, 1, 9))
		if got := w.retain(); got != (automation.RetentionReport{Deleted: 1}) {
			w.t.Errorf("%+v", got)
		}
		delete(before, "reminder:certificate:employee:7:1:2026-05-01:30")
		if diff := cmp.Diff(before, w.statuses()); diff != "" || len(before) != 3 {
			w.t.Error(diff)
		}
	})
}

// ended inserts a completed row under a key, as some other trigger would.
func (w *world) ended(key string, err error) string {
	w.t.Helper()
	if err == nil {
		err = w.store.InTx(w.ctx, func(tx storage.Tx) error {
			now := driver.Now(w.store)
			_, err := automation.Schedules.Insert(w.ctx, tx, &automation.ScheduleRow{
				Due: driver.Due{Record: storage.Record{Key: key, Kind: "certificate", Status: automation.StatusCompleted}}, CreatedOn: now, ScheduledOn: now, Tries: driver.Tries{EndedOn: now},
			})
			return err
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return key
}

func (w *world) threshold(policy keys.FiringPolicy) string {
	value, scope, err := keys.Firing{Policy: policy, Value: "0.9", Scope: "all", LocalDate: "2026-03-01", Rises: 1}.Parts()
	if err != nil {
		w.t.Fatal(err)
	}
	key, err := keys.Threshold{
		Setting: "s", SourceType: "class", Source: "7", TriggerKey: "default", Metric: "occupancy", Value: value, Policy: policy, ScopeKey: scope,
	}.Key()
	return w.ended(key, err)
}

// What may be asked for at any time is kept, unless the type says otherwise.
func TestEachKindOfKeyIsRememberedForAsLongAsItMayBeAskedFor(t *testing.T) {
	for name, forgetAfter := range map[string]time.Duration{"without a word of the type": 0, "where the type forgets": 90 * days} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Retention = automation.Retention{After: days, ForgetAfter: forgetAfter}
				}))
				perDay := w.threshold(keys.OncePerDay)
				recurring := w.ended(keys.Recurring{Setting: "s", SourceType: "class", Source: "7", TriggerKey: "default", Occurrence: start}.Key())
				unread := w.ended("not a key", nil)
				atAnyTime := []string{unread, w.threshold(keys.OncePerSource), w.threshold(keys.OncePerThreshold), w.threshold(keys.FalseToTrue)}
				w.goneAt(recurring, start.Add(2*days))
				w.goneAt(perDay, start.Truncate(days).Add(4*days))
				for _, key := range atAnyTime {
					if forgetAfter == 0 {
						w.clk.Set(day(2066, 1, 1, 0))
						w.retain()
						w.row(key)
					} else {
						w.goneAt(key, start.Add(forgetAfter))
					}
				}
			})
		})
	}
}

// goneAt fails the test unless the row is there at a moment and gone right after.
func (w *world) goneAt(key string, last time.Time) {
	w.t.Helper()
	if w.clk.Now().Before(last) {
		w.clk.Set(last)
		w.retain()
		w.row(key)
	}
	w.clk.Set(last.Add(time.Microsecond))
	w.retain()
	if _, there := w.rows()[key]; there {
		w.t.Errorf("%s is there after %s", key, last)
	}
}

// A host's type says for how long a duplicate may come.
func TestAHostsTypeIsRememberedUnlessItSaysForHowLong(t *testing.T) {
	eachWorld(t, func(w *world) {
		done := automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			return make([]automation.Outcome, len(due)), nil
		})
		w.s.Handle(automation.WorkType{Name: "export", Handler: done, Retention: automation.Retention{After: days}, LongRunning: true})
		w.s.Handle(automation.WorkType{Name: "import", Handler: done, LongRunning: true, Retention: automation.Retention{After: days, ForgetAfter: 7 * days}})
		if !automation.IsLongRunning(w.s, "export") || !automation.IsLongRunning(w.s, "import") {
			w.t.Error("wrapped twice, it is no long-running type any more")
		}
		var made []automation.Ensured
		for _, name := range []string{"export", "import"} {
			made = append(made, w.ensure(automation.Candidate{AutomationType: name, Source: automation.Source{"file", "1"}, ScheduledOn: start})...)
		}
		w.poll()
		w.goneAt(made[1].Key, start.Add(7*days))
		w.clk.Set(day(2066, 1, 1, 0))
		if got := w.retain(); got != (automation.RetentionReport{Remembered: 1}) || w.row(made[0].Key).Status != automation.StatusCompleted {
			w.t.Errorf("%+v", got)
		}
	})
}

func TestRowsAreArchivedBeforeTheyAreDeleted(t *testing.T) {
	eachWorld(t, func(w *world) {
		var archived []string
		answer := errBoom
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Retention = automation.Retention{After: 30 * days, Archive: func(_ context.Context, rows []automation.Schedule) error {
				for _, r := range rows {
					stored := w.row(r.Key)
					archived = append(archived, fmt.Sprint(r.Key, " ", r.Status, " ", cmp.Equal(automation.ViewRow(&stored), r)))
				}
				return answer
			}}
		}))
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Name = "invoice"; forMonth(t) }))
		w.ensure(candidate(nil), of("", "invoice", 1))
		w.pollAt(day(2026, 4, 1, 9))
		w.clk.Set(day(2026, 6, 1, 9))
		report, err := w.s.Maintenance().Retain(w.ctx)
		if report != (automation.RetentionReport{Deleted: 1, Unarchived: 1}) || !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "Archive of certificate") {
			w.t.Errorf("%+v %v", report, err)
		}
		w.row(certificateKey)
		answer = nil
		if got := w.retain(); got != (automation.RetentionReport{Deleted: 1}) || len(w.rows()) != 0 {
			w.t.Errorf("%+v", got)
		}
		want := []string{certificateKey + " Completed true", certificateKey + " Completed true"}
		if diff := cmp.Diff(want, archived); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestAPanicInArchiveKeepsTheRows(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Retention = automation.Retention{After: 30 * days, Archive: func(context.Context, []automation.Schedule) error { panic("boom") }}
		}))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		w.clk.Set(day(2026, 6, 1, 9))
		report, err := w.s.Maintenance().Retain(w.ctx)
		if panicked := (*work.PanicError)(nil); report != (automation.RetentionReport{Unarchived: 1}) || !errors.As(err, &panicked) {
			w.t.Errorf("%+v %v", report, err)
		}
	})
}

// Whoever writes a row between looking and deleting saves it.
func TestARowThatSomebodyWritesMeanwhileStays(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil })
			t.Retention = automation.Retention{After: 30 * days, Archive: func(context.Context, []automation.Schedule) error {
				w.do(w.s.Support().Retry)
				return nil
			}}
		}))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		w.clk.Set(day(2026, 6, 1, 9))
		if got := w.retain(); got != (automation.RetentionReport{}) || w.row(certificateKey).Status != automation.StatusPending {
			w.t.Errorf("%+v %+v", got, w.row(certificateKey))
		}
	})
}

func TestRetentionThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	w := newPlayer(t).world
	for want, r := range map[string]automation.Retention{
		"a negative Retention":           {After: -1},
		"a Retention of less than a day": {After: time.Hour},
	} {
		if got := panics(t, func() {
			w.s.Handle(automation.WorkType{Name: "x", Handler: automation.HandlerFunc(nil), Retention: r})
		}); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		got := panics(t, func() { w.s.Register(certificates(func(t *automation.ReminderType) { t.Name, t.Retention = "x", r })) })
		if !strings.Contains(got, "a negative Retention") && !strings.Contains(got, "a Retention ") {
			t.Error(got)
		}
	}
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		_, err := w.s.WithTx(tx).Maintenance().Retain(w.ctx)
		return err
	})
	if !errors.Is(err, automation.ErrBound) {
		t.Error(err)
	}
}

// Where no type forgets, Retain asks for nothing.
func TestWithoutARetentionNothingIsAskedFor(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	w.s.Register(certificates(nil))
	calls.Take()
	if report := w.retain(); report != (automation.RetentionReport{}) {
		t.Errorf("%+v", report)
	}
	if used := calls.Verbs(); len(used) != 0 {
		t.Error(used)
	}
}

// A condition that has risen again is never asked for its earlier rises.
func TestARiseIsRememberedUntilTheNextOne(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(func(t *automation.ReminderType) { t.Retention = automation.Retention{After: days} })
		reads := func(version int64, reading string) {
			m.set(line{value: "18", reading: reading, comparison: threshold.AtLeast}.under(threshold.FalseToTrue))
			w.handle(booked(version))
			w.poll()
		}
		reads(1, "18")
		w.clk.Add(100 * days)
		if got := w.retain(); got != (automation.RetentionReport{Tombstones: 1}) {
			w.t.Errorf("%+v %v", got, w.statuses())
		}
		reads(2, "17")
		reads(3, "19")
		if got := w.retain(); got != (automation.RetentionReport{Deleted: 1}) {
			w.t.Errorf("%+v %v", got, w.statuses())
		}
		reads(3, "19")
		if diff := cmp.Diff(map[string]string{thresholdKey("18:FalseToTrue:source@2"): "Completed"}, w.statuses()); diff != "" || len(w.out.dispatched()) != 2 {
			w.t.Error(diff)
		}
	})
}
