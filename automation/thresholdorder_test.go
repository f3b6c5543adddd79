package automation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// Whatever order the events of a class come in, and however often, in the end
// the open rows are those of the newest reading, and what is counted are the
// rises among the readings that were applied.
func TestI7_EventsInAnyOrderEndAsTheNewestReading(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		readings := rapid.SliceOfN(rapid.IntRange(8, 12), 1, 8).Draw(rt, "readings")
		order := rapid.Permutation(indices(len(readings))).Draw(rt, "order")
		repeats := rapid.SliceOfN(rapid.SampledFrom(order), 0, 6).Draw(rt, "repeats")
		got := arrive(t, readings, append(order, repeats...))
		want := map[string]string{}
		if last := readings[len(readings)-1]; last >= 10 {
			for _, end := range []string{
				"any:OncePerSource:source", "10:OncePerThreshold:source", "10:OncePerDay:source@2026-03-01",
				fmt.Sprintf("10:FalseToTrue:source@%d", rises(readings, order)),
			} {
				want[thresholdKey(end)] = "Pending"
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Error(diff)
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// rises counts those among the readings that arrive before any newer one.
func rises(readings, order []int) int {
	n, newest, met := 0, -1, false
	for _, i := range order {
		if i <= newest {
			continue
		}
		newest = i
		if readings[i] >= 10 && !met {
			n++
		}
		met = readings[i] >= 10
	}
	return n
}

// arrive handles the events in that order and gives the open rows.
func arrive(t *testing.T, readings, order []int) map[string]string {
	clk := clock.NewMock()
	clk.Set(start)
	w := newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, nil)
	m := w.withMeter(nil)
	m.at = func(version int64) (out []automation.Candidate) {
		for _, policy := range policies {
			out = append(out, line{value: "10", reading: fmt.Sprint(readings[version-1])}.under(policy))
		}
		return out
	}
	for _, i := range order {
		w.handle(booked(int64(i + 1)))
	}
	open := map[string]string{}
	for key, status := range w.statuses() {
		if word, _, _ := strings.Cut(status, " "); word == automation.StatusPending {
			open[key] = word
		}
	}
	return open
}

// A class over five readings, with a fault in any one transaction: the caller
// repeats what it was not sure of, pollers go on, and the end is the same.
func TestAFaultInAnyOneTransactionCountsNoRiseTwice(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]int64{"with versions": 1, "without": 0} {
		want := capacityStory(t, &storetest.Spy{}, version)
		if want["jobs"] != "7" {
			t.Error(name, want)
		}
		for at := 1; ; at++ {
			reached := false
			for _, lost := range []bool{false, true} {
				faulty := &storetest.Spy{Hook: storetest.Lose(at, lost)}
				if diff := cmp.Diff(want, capacityStory(t, faulty, version)); diff != "" {
					t.Errorf("%s, fault %d, answer lost %v: %s", name, at, lost, diff)
				}
				reached = faulty.Begun() >= at
			}
			if !reached {
				break
			}
		}
	}
}

func capacityStory(t *testing.T, store *storetest.Spy, version int64) map[string]string {
	clk := clock.NewMock()
	clk.Set(start)
	store.Store = memory.New(&memory.Options{Clock: clk})
	w := newWorld(t, store, clk, nil)
	m := w.withMeter(nil)
	for i, reading := range []string{"9", "10", "3", "12", "11"} {
		var all []automation.Candidate
		for _, policy := range policies {
			all = append(all, line{value: "10", reading: reading}.under(policy))
		}
		m.set(all...)
		clk.Set(day(2026, 3, 1+i, 9))
		for range 2 {
			if _, err := w.s.HandleEvent(w.ctx, booked(version*int64(i+1))); err == nil {
				break
			}
		}
		for until := clk.Now().Add(3 * time.Hour); clk.Now().Before(until); clk.Add(10 * time.Minute) {
			_, _ = w.runner().Poll(w.ctx, 100) // the next one goes on
		}
	}
	w.store = store.Store // the story is over, and so are its faults
	out := w.statuses()
	state := w.conditions()["bookings 10 source"]
	out["state"] = fmt.Sprint(state.Met, state.Rises, state.SourceVersion, state.Reading)
	jobs := map[string]bool{}
	for _, j := range w.out.jobs {
		jobs[j.PartitionKey+j.RowKey] = true
	}
	out["jobs"] = fmt.Sprint(len(jobs))
	return out
}

// policies in the order of their letters in the stories below.
var policies = []threshold.FiringPolicy{threshold.OncePerSource, threshold.OncePerThreshold, threshold.OncePerDay, threshold.FalseToTrue}

// line is what a host wants to know about the bookings of a class.
type line struct {
	value, reading, scope string
	comparison            threshold.Comparison
}

func (l line) under(policy threshold.FiringPolicy) automation.Candidate {
	return automation.Candidate{Threshold: &threshold.Threshold{
		Metric: "bookings", Value: l.value, Reading: l.reading, Scope: l.scope, Comparison: l.comparison, Policy: policy,
	}}
}

// meter is a TriggerProvider that measures classes.
type meter struct {
	mu         sync.Mutex
	candidates []automation.Candidate
	version    int64                                      // of what is asked without an event
	at         func(version int64) []automation.Candidate // instead, if it is not nil
}

func (m *meter) EventTypes() []string { return []string{"class-changed"} }

func (m *meter) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return automation.Each(of, func(r automation.Request) (automation.Answer, error) {
		if m.at != nil {
			return automation.Answer{Candidates: m.at(r.Event.Version)}, nil
		}
		return automation.Answer{Version: m.version, Candidates: slices.Clone(m.candidates)}, nil
	})
}

func (m *meter) set(c ...automation.Candidate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.candidates = c
}

// withMeter registers a reminder type about classes that are nearly full.
func (w *world) withMeter(change func(*automation.ReminderType)) *meter {
	m := &meter{}
	t := automation.ReminderType{Name: "capacity", Zone: "UTC", Triggers: m, Recipients: automation.RecipientFunc(toSam)}
	if change != nil {
		change(&t)
	}
	w.s.Register(t)
	return m
}

func booked(version int64) automation.Event {
	return automation.Event{ID: fmt.Sprint("b", version), Type: "class-changed", Source: automation.Source{"class", "7"}, Version: version}
}

// thresholdKey is a key of class 7 behind the metric.
func thresholdKey(rest string) string {
	return "reminder:capacity:class:7:default:threshold:bookings:" + rest
}

// firings are the ends of the keys that were dispatched since the last call.
func (w *world) firings(seen map[string]bool) []string {
	out := []string{}
	for _, key := range w.out.dispatched() {
		if !seen[key] {
			seen[key] = true
			out = append(out, strings.TrimPrefix(key, thresholdKey("")))
		}
	}
	return out
}

// conditions are the rows of threshold_state of the empty scope, by metric,
// value and scope.
func (w *world) conditions() map[string]automation.ThresholdState {
	w.t.Helper()
	out := map[string]automation.ThresholdState{}
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		states, err := automation.ThresholdStates.Find(w.ctx, tx, "", driver.Query{Limit: 10000})
		for _, s := range states {
			parts, _ := keys.Split(s.Key)
			out[strings.Join(parts[4:], " ")] = *s
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}
