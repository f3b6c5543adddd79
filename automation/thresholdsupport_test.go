package automation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// A rerun stands for the condition of the row that it repeats: it goes on while
// that is met, and ends when it is not.
func TestARerunOfAThresholdIsOneOfItsCondition(t *testing.T) {
	for name, c := range map[string]struct{ reading, want string }{
		"met": {"12", "Completed"}, "no longer met": {"3", "Deactivated ThresholdNoLongerMet"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				found := &source{}
				m := w.withMeter(func(t *automation.ReminderType) { t.Validator = found })
				m.set(line{value: "10", reading: "11"}.under(automation.OncePerThreshold))
				made := w.handle(booked(1)).Ensured[0].Key
				w.poll()
				again := w.rerun(made)
				if again.Key != strings.Replace(made, "default", "default~1", 1) {
					w.t.Errorf("%+v", again)
				}
				m.set(line{value: "10", reading: c.reading}.under(automation.OncePerThreshold))
				found.candidates = []automation.Candidate{line{value: "10", reading: c.reading}.under(automation.OncePerThreshold)}
				w.handle(booked(2))
				w.poll()
				if got := w.statuses()[again.Key]; got != c.want {
					w.t.Errorf("%s, want %s", got, c.want)
				}
				if c.want != "Completed" {
					return
				}
				e, err := w.s.Explain(w.ctx, "", again.Key)
				if last := found.seen[len(found.seen)-1]; err != nil || e.Condition == nil || e.Condition.Rises != 1 || last.Rerun != 1 || last.Threshold.Reading == "" {
					w.t.Errorf("%v %+v %+v", err, e.Condition, last)
				}
			})
		})
	}
}

// Why is nobody told that the class is nearly full? The readings of the
// explanation are not recorded.
func TestAThresholdThatIsNotMetExplainsAnAbsence(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy, calls := storetest.Counting(store)
		w := newWorld(t, spy, clk, nil)
		m := w.withMeter(nil)
		because := func(reading string, want automation.Cause, key string) {
			t.Helper()
			m.set(line{value: "10", reading: reading}.under(automation.FalseToTrue))
			a, err := w.s.ExplainMissing(w.ctx, "", "capacity", automation.Source{"class", "7"})
			if err != nil || a.Cause != want || len(a.Findings) != 1 || a.Findings[0].Key != thresholdKey(key) {
				t.Errorf("%s %v, want %s of %s", a, err, want, key)
			}
		}
		because("3", automation.CauseThresholdNotMet, "10:FalseToTrue:source@1")
		because("11", automation.CauseNotAskedYet, "10:FalseToTrue:source@1")
		w.handle(booked(1))
		because("12", automation.CauseExists, "10:FalseToTrue:source@1")
		w.poll()
		because("12", automation.CauseEnded, "10:FalseToTrue:source@1")
		because("3", automation.CauseThresholdNotMet, "10:FalseToTrue:source@1")
		w.handle(booked(2))
		calls.Take()
		clk.Add(time.Hour)
		because("12", automation.CauseNotAskedYet, "10:FalseToTrue:source@2")
		for _, c := range calls.Take() {
			if c.Verb != storetest.Select && c.Verb != storetest.Get {
				t.Errorf("ExplainMissing did %+v", c)
			}
		}
	})
}
