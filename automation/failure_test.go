package automation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func itemsOf(ctx context.Context, rows []*automation.ScheduleRow) []work.Item[automation.ScheduleRow] {
	var out []work.Item[automation.ScheduleRow]
	for _, r := range rows {
		out = append(out, work.Item[automation.ScheduleRow]{Row: r, Ctx: ctx})
	}
	return out
}

// waits polls a row whenever it is due, until it is no more, and tells how long
// it waited each time, without the jitter.
func (w *world) waits(key string) []time.Duration {
	w.t.Helper()
	var out []time.Duration
	for range 20 {
		now := driver.Now(w.store)
		w.poll()
		row := w.row(key)
		if row.DueOn.IsZero() {
			return out
		}
		wait := row.NextRetryOn.Sub(now)
		out = append(out, wait)
		w.clk.Set(row.DueOn)
	}
	w.t.Fatal("it is retried for ever")
	return nil
}

func checkWaits(t *testing.T, got []time.Duration, steps ...time.Duration) {
	t.Helper()
	if len(got) != len(steps) {
		t.Fatalf("waited %v, want about %v", got, steps)
	}
	for i, step := range steps {
		if got[i] < step || got[i] > step+step/10 {
			t.Errorf("wait %d was %v, want %v and at most a tenth more", i+1, got[i], step)
		}
	}
}

const (
	fiveMinutes    = 5 * time.Minute
	fifteenMinutes = 15 * time.Minute
)

// A fail-over counts as no try: what could not be read is read a moment later.
func TestADatabaseThatIsAwayIsNoTry(t *testing.T) {
	eachWorld(t, func(w *world) {
		away := fmt.Errorf("reading: %w", storage.ErrUnavailable)
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failingNow(&away) }))
		w.ensure(candidate(nil))
		now := day(2026, 4, 1, 9)
		w.clk.Set(now)
		w.poll()
		if row := w.row(certificateKey); row.Status != automation.StatusPending || row.RetryCount != 0 || !row.DueOn.Equal(now.Add(work.AwayWait)) {
			w.t.Errorf("%+v", row)
		}
		away = nil
		w.clk.Set(now.Add(work.AwayWait))
		w.poll()
		if row := w.row(certificateKey); row.Status != automation.StatusCompleted {
			w.t.Errorf("%+v", row)
		}
	})
}

func TestI17_BackOffAndThenHold(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(errBoom) }))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		checkWaits(w.t, w.waits(certificateKey), fiveMinutes, fifteenMinutes, time.Hour)
		row := w.row(certificateKey)
		if row.Status != automation.StatusFailed || row.HoldReason != reasons.RetriesExhausted || row.HoldDetail != "boom" || row.RetryCount != 4 || row.EndedOn.IsZero() {
			w.t.Errorf("%+v", row)
		}
	})
}

func TestI17_LostLeasesCountOnceEachAndEndOnHold(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		for n := 1; n <= 4; n++ {
			w.claim(time.Minute)
			w.clk.Add(time.Minute)
			w.poll()
			row := w.row(certificateKey)
			if row.RetryCount != n || row.LeaseLossCount != n {
				w.t.Fatalf("%+v", row)
			}
			if n < 4 {
				w.clk.Set(row.DueOn)
			}
		}
		if row := w.row(certificateKey); row.Status != automation.StatusFailed || row.HoldReason != reasons.RetriesExhausted || len(w.out.dispatched()) != 0 {
			w.t.Errorf("%+v", row)
		}
	})
}

func TestLongRunningTypesGoOnDailyForAWeek(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients, t.LongRunning = failing(errBoom), true }))
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, errBoom }), LongRunning: true})
		export := automation.Candidate{AutomationType: "export", Source: automation.Source{"file", "1"}, ScheduledOn: day(2027, 1, 1, 0)}
		w.ensure(candidate(nil), export)
		daily := 24 * time.Hour
		want := []time.Duration{fiveMinutes, fifteenMinutes, time.Hour, daily, daily, daily, daily, daily, daily, daily}
		for _, c := range []struct {
			key   string
			start time.Time
		}{{certificateKey, day(2026, 4, 1, 9)}, {"host:export:file:1:default", export.ScheduledOn}} {
			w.clk.Set(c.start)
			checkWaits(w.t, w.waits(c.key), want...)
			if row := w.row(c.key); row.Status != automation.StatusFailed || row.HoldReason != reasons.RetriesExhausted || row.RetryCount != 11 {
				w.t.Errorf("%+v", row)
			}
		}
	})
}

func TestAPermanentErrorIsFailedAtOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(automation.Permanent(errBoom)) }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		if diff := cmp.Diff(map[string]string{certificateKey: "Failed HandlerFailed held PermanentFailure"}, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if automation.Permanent(nil) != nil {
			w.t.Error("Permanent(nil) is an error")
		}
	})
}
