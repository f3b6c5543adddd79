package automation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// policies in the order of their letters in the stories below.
var policies = []automation.FiringPolicy{automation.OncePerSource, automation.OncePerThreshold, automation.OncePerDay, automation.FalseToTrue}

// line is what a host wants to know about the bookings of a class.
type line struct {
	value, reading, scope string
	comparison            automation.Comparison
}

func (l line) under(policy automation.FiringPolicy) automation.Candidate {
	return automation.Candidate{Threshold: &automation.Threshold{
		Metric: "bookings", Value: l.value, Reading: l.reading, Scope: l.scope, Comparison: l.comparison, Policy: policy,
	}}
}

// meter is a TriggerProvider that measures classes.
type meter struct {
	mu         sync.Mutex
	candidates []automation.Candidate
	at         func(version int64) []automation.Candidate // instead, if it is not nil
}

func (m *meter) EventTypes() []string { return []string{"class-changed"} }

func (m *meter) Candidates(_ context.Context, e automation.Event) ([]automation.Candidate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at != nil {
		return m.at(e.Version), nil
	}
	return slices.Clone(m.candidates), nil
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
