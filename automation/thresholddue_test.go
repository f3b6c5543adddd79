package automation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// source is a validator that notes what it sees.
type source struct{ seen []automation.Due }

func (s *source) Validate(_ context.Context, d automation.Due) (automation.Validity, error) {
	s.seen = append(s.seen, d)
	return automation.StillValid(), nil
}

// A row that was made at 23:59 is the same one at 00:01.
func TestARowOfYesterdayIsStillWantedWhileItsConditionIsMet(t *testing.T) {
	for _, policy := range policies {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				// Wellington: noon in UTC is midnight there, or an hour behind it.
				w := newWorld(t, store, clk, &automation.Options{Zone: func(context.Context, automation.Scope, string) (string, error) { return "Pacific/Auckland", nil }})
				m := w.withMeter(nil)
				m.set(line{value: "10", reading: "11"}.under(policy))
				clk.Set(time.Date(2026, 6, 30, 11, 59, 0, 0, time.UTC))
				made := w.handle(booked(1)).Ensured[0].Key
				if policy == threshold.OncePerDay && made != thresholdKey("10:OncePerDay:source@2026-06-30") {
					t.Error(made)
				}
				clk.Set(time.Date(2026, 6, 30, 12, 1, 0, 0, time.UTC))
				m.set(line{value: "10", reading: "12"}.under(policy))
				w.handle(booked(2)) // on the next day, before anybody polled
				m.set(line{value: "10", reading: "13"}.under(policy))
				w.poll()
				if row := w.row(made); row.Status != automation.StatusCompleted {
					t.Errorf("%+v", row)
				}
				want := map[bool]int{true: 2, false: 1}[policy == threshold.OncePerDay]
				if got := w.out.dispatched(); len(got) != want {
					t.Error(got)
				}
			})
		})
	}
}

// At its moment the reading is another one: what providers, policy and template
// see is what the provider says then.
func TestADueThresholdKnowsItsReading(t *testing.T) {
	eachWorld(t, func(w *world) {
		found := &source{}
		m := w.withMeter(func(t *automation.ReminderType) { t.Validator = found })
		m.set(line{value: "10.0", reading: "11.50"}.under(threshold.OncePerSource), line{value: "7", reading: "5", scope: "east", comparison: threshold.LessThan}.under(threshold.OncePerDay))
		w.handle(booked(1))
		w.poll()
		want := map[threshold.FiringPolicy]*threshold.Threshold{
			threshold.OncePerSource: {Metric: "bookings", Comparison: threshold.AtLeast, Value: "10", Reading: "11.5", Policy: threshold.OncePerSource},
			threshold.OncePerDay:    {Metric: "bookings", Comparison: threshold.LessThan, Value: "7", Reading: "5", Policy: threshold.OncePerDay, Scope: "east"},
		}
		for _, d := range found.seen {
			if diff := cmp.Diff(want[d.Threshold.Policy], d.Threshold); diff != "" || d.TriggerType != automation.ThresholdCondition {
				w.t.Error(diff)
			}
			if d.Threshold.Policy == threshold.OncePerDay && (d.LocalDate != date(2026, 3, 1) || d.Zone != "UTC") {
				w.t.Errorf("%+v", d)
			}
		}
		if len(found.seen) != 2 {
			w.t.Error(found.seen)
		}
		m.set(line{value: "20", reading: "20"}.under(threshold.OncePerThreshold))
		w.handle(booked(2))
		m.set(line{value: "20", reading: "30"}.under(threshold.OncePerThreshold))
		w.poll()
		var data map[string]any
		if err := json.Unmarshal(w.out.jobs[2].EventData, &data); err != nil {
			w.t.Fatal(err)
		}
		wantData := map[string]any{
			"Source": map[string]any{"Type": "class", "ID": "7"}, "TargetDate": "", "DaysBefore": 0.0,
			"Key": thresholdKey("20:OncePerThreshold:source"), "Metric": "bookings", "Comparison": "AtLeast", "Value": "20", "Reading": "30", "Scope": "source",
		}
		if diff := cmp.Diff(wantData, data); diff != "" {
			w.t.Error(diff)
		}
	})
}

// The reading of the due moment decides about the row, and about what waits in
// delivery behind it.
func TestI18_AReadingThatNoLongerMeetsEndsTheDueRow(t *testing.T) {
	for _, policy := range policies {
		t.Run(string(policy), func(t *testing.T) {
			eachWorld(t, func(w *world) {
				m := w.withMeter(nil)
				m.version = 2
				m.set(line{value: "10", reading: "11"}.under(policy))
				made := w.handle(booked(1)).Ensured[0].Key
				m.set(line{value: "10", reading: "9"}.under(policy))
				w.poll()
				row := w.row(made)
				result, err := row.Dispatched()
				if row.Status != automation.StatusDeactivated || row.ReasonCode != reasons.ThresholdNoLongerMet || row.RetryCount != 0 || err != nil || result.SkippedReason != string(reasons.ThresholdNoLongerMet) {
					w.t.Errorf("%+v %+v %v", row, result, err)
				}
				w.handle(booked(2)) // what the due row saw already
				m.set(line{value: "10", reading: "12"}.under(policy))
				again := w.handle(booked(3)).Ensured[0].Key
				w.poll()
				if got := w.out.dispatched(); len(got) != 1 || got[0] != again || (again == made) == (policy == threshold.FalseToTrue) {
					w.t.Error(got, again)
				}
				m.set(line{value: "10", reading: "9"}.under(policy))
				verdicts, err := w.s.Revalidator().Revalidate(w.ctx, w.out.jobs)
				if diff := cmp.Diff([]gate.Verdict{gate.Skip(string(reasons.ThresholdNoLongerMet))}, verdicts); diff != "" || err != nil {
					w.t.Error(err, diff)
				}
				m.set(line{value: "10", reading: "10"}.under(policy))
				verdicts, err = w.s.Revalidator().Revalidate(w.ctx, w.out.jobs)
				if diff := cmp.Diff([]gate.Verdict{{}}, verdicts); diff != "" || err != nil {
					w.t.Error(err, diff)
				}
			})
		})
	}
}

// The setting moved its line after the row was made: the row ends and the new
// one is ensured, with its rise counted, unless an event was faster.
func TestADueRowOfAnotherThresholdIsReplaced(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		m.version = 2
		m.set(line{value: "10", reading: "25"}.under(threshold.FalseToTrue))
		w.handle(booked(1))
		m.set(line{value: "20", reading: "25"}.under(threshold.FalseToTrue))
		w.poll()
		want := map[string]string{thresholdKey("10:FalseToTrue:source@1"): "Deactivated InputChanged", thresholdKey("20:FalseToTrue:source@1"): "Pending"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if state := w.conditions()["bookings 20 source"]; state.Rises != 1 || state.SourceVersion != 2 || !state.Met {
			w.t.Errorf("%+v", state)
		}
		m.set(line{value: "20", reading: "30"}.under(threshold.FalseToTrue))
		if got := w.handle(booked(2)); got.Ensured[0].Outcome != storage.Unchanged {
			w.t.Errorf("%+v", got)
		}
		w.poll()
		if diff := cmp.Diff([]string{thresholdKey("20:FalseToTrue:source@1")}, w.out.dispatched()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// An answer about a due row that is from an older state than an event moves no count.
func TestI7_AnOlderAnswerCountsNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		m.set(line{value: "10", reading: "25"}.under(threshold.FalseToTrue), line{value: "20", reading: "19"}.under(threshold.FalseToTrue))
		w.handle(booked(2))
		m.version = 1
		m.set(line{value: "20", reading: "25"}.under(threshold.FalseToTrue))
		w.poll()
		if diff := cmp.Diff(map[string]string{thresholdKey("10:FalseToTrue:source@1"): "Deactivated InputChanged"}, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if state := w.conditions()["bookings 20 source"]; state.Rises != 0 || state.Met {
			w.t.Errorf("%+v", state)
		}
	})
}

func TestAThresholdRowThatCannotBeReadIsHeld(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.withMeter(nil).set(line{value: "10", reading: "11"}.under(threshold.OncePerDay))
		w.handle(booked(1))
		key := thresholdKey("10:OncePerDay:source@2026-03-01")
		w.change(key, func(r *automation.ScheduleRow) { r.LocalDate = "2026-02-30" })
		w.poll()
		if row := w.row(key); row.HoldReason != reasons.Undecodable {
			w.t.Errorf("%+v", row)
		}
		wrong := w.row(certificateKey)
		wrong.TriggerType = automation.ThresholdCondition
		if _, err := automation.RowDue(&wrong); err == nil {
			w.t.Error("a date's key is not a threshold's")
		}
	})
}

// Explain is told of a condition with a row and without one.
func TestExplainTellsOfAThreshold(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		tell := func(version int64, reading string) {
			m.set(line{value: "10", reading: reading, comparison: threshold.MoreThan}.under(threshold.FalseToTrue), line{value: "20", reading: reading}.under(threshold.OncePerSource))
			w.handle(booked(version))
		}
		rising, once := thresholdKey("10:FalseToTrue:source@1"), thresholdKey("any:OncePerSource:source")
		w.says(rising, "there is no row: bookings 10 in source (FalseToTrue), no reading yet")
		tell(1, "10")
		w.says(rising, "there is no row: bookings more than 10 in source (FalseToTrue), last reading 10: not met, version 1; rises so far: 0")
		w.says(once, "there is no row: bookings at least 20 (OncePerSource), last reading 10: not met, version 1; rises so far: 0")
		tell(2, "15")
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error { // also where the host's transaction is open
			e, err := w.s.WithTx(tx).Explain(w.ctx, "", rising)
			want := rising + `
  capacity for class 7, bookings more than 10 in source (FalseToTrue), last reading 15: met, version 2; rises so far: 1: 2026-03-01T08:00:00Z
  Pending
  2026-03-01T08:00:00Z: Created by event class-changed b2
  now: it is due; as things are, delivery would be queued (recipients: 1)`
			if diff := cmp.Diff(want, e.String()); diff != "" {
				w.t.Error(diff)
			}
			condition := &automation.Condition{
				Threshold: threshold.Threshold{Metric: "bookings", Comparison: threshold.MoreThan, Value: "10", Reading: "15", Policy: threshold.FalseToTrue, Scope: "source"},
				Met:       true, SourceVersion: 2, Rises: 1,
			}
			if diff := cmp.Diff(condition, e.Condition); diff != "" {
				w.t.Error(diff)
			}
			return err
		})
		if err != nil {
			w.t.Error(err)
		}
	})
}

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
				m.set(line{value: "10", reading: "11"}.under(threshold.OncePerThreshold))
				made := w.handle(booked(1)).Ensured[0].Key
				w.poll()
				again := w.rerun(made)
				if again.Key != strings.Replace(made, "default", "default~1", 1) {
					w.t.Errorf("%+v", again)
				}
				m.set(line{value: "10", reading: c.reading}.under(threshold.OncePerThreshold))
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
		because := func(reading string, want causes.Cause, key string) {
			t.Helper()
			m.set(line{value: "10", reading: reading}.under(threshold.FalseToTrue))
			a, err := w.s.ExplainMissing(w.ctx, "", "capacity", automation.Source{"class", "7"})
			if err != nil || a.Cause != want || len(a.Findings) != 1 || a.Findings[0].Key != thresholdKey(key) {
				t.Errorf("%s %v, want %s of %s", a, err, want, key)
			}
		}
		because("3", causes.ThresholdNotMet, "10:FalseToTrue:source@1")
		because("11", causes.NotAskedYet, "10:FalseToTrue:source@1")
		w.handle(booked(1))
		because("12", causes.Exists, "10:FalseToTrue:source@1")
		w.poll()
		because("12", causes.Ended, "10:FalseToTrue:source@1")
		because("3", causes.ThresholdNotMet, "10:FalseToTrue:source@1")
		w.handle(booked(2))
		calls.Take()
		clk.Add(time.Hour)
		because("12", causes.NotAskedYet, "10:FalseToTrue:source@2")
		for _, c := range calls.Take() {
			if c.Verb != storetest.Select && c.Verb != storetest.Get {
				t.Errorf("ExplainMissing did %+v", c)
			}
		}
	})
}

// thresholdStatements says how many statements it takes to measure n things, to
// say the same again, to see half of them fall and the rest go on, and to run
// what is left.
func thresholdStatements(t *testing.T, n int) (out [5]int) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	m := w.withMeter(nil)
	measure := func(low, high string) {
		var all []automation.Candidate
		for i := range n {
			reading := []string{low, high}[i%2]
			all = append(all, line{value: "10", reading: reading, scope: fmt.Sprint(i)}.under(policies[1+i%3]))
		}
		m.set(all...)
	}
	runner := w.runner()
	for i, step := range []func(){
		func() { measure("11", "12"); w.handle(booked(1)) },
		func() { w.handle(booked(1)) },
		func() { measure("9", "13"); w.handle(booked(2)) },
		func() { measure("11", "13"); w.handle(booked(3)) },
		func() {
			if report, err := runner.Poll(w.ctx, n); err != nil || report.Settled != n {
				t.Fatalf("%+v %v", report, err)
			}
		},
	} {
		calls.Take()
		step()
		out[i] = calls.Count()
	}
	return out
}

// Not parallel, for the reason that the test for dates gives.
func TestTheNumberOfStatementsDoesNotGrowWithTheThresholds(t *testing.T) {
	for _, n := range []int{20, 499} {
		synctest.Test(t, func(t *testing.T) { // so that results that come at once are saved together
			got := thresholdStatements(t, n)
			for i, most := range [5]int{9, 10, 12, 14, 8 + n/50} { // one of the first two steps is for the epoch; readings are loaded for groups of 50 due rows
				if got[i] > most {
					t.Errorf("%d conditions: step %d takes %d statements, more than %d", n, i+1, got[i], most)
				}
			}
		})
	}
}
