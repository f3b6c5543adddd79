package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// subscribers are the four reminder settings. They differ in nothing but the
// policy and whom they tell.
var subscribers = []struct {
	name   string
	policy automation.FiringPolicy
	why    string
}{
	{"Sara", automation.OncePerSource, "One row for the class, whichever line is crossed: she is told once in its life."},
	{"Tom", automation.OncePerThreshold, "One row for each line: he is told of each once."},
	{"Dana", automation.OncePerDay, "One row for each line and day on which an event finds it reached."},
	{"Fay", automation.FalseToTrue, "One row for each line and rise over it: a fall between two rises makes the second new."},
}

// lines are the places taken at which the class is nearly full, and full.
var lines = []string{"16", "20"}

// changed is the event of a class whose bookings are others than before.
const changed = "class.changed"

// class measures. It says what the reading is and leaves it to the scheduler to
// compare, also while nothing is reached: that is how a fall is seen.
type class struct{}

func (class) EventTypes() []string { return []string{changed} }

// Candidates takes the reading that the event brings along. An event that comes
// late brings an old one, and its Version says so.
func (class) Candidates(_ context.Context, e automation.Event) ([]automation.Candidate, error) {
	taken, ok := e.Data.(int)
	if !ok {
		return nil, fmt.Errorf("the event %s does not say how many places are taken", e.Type)
	}
	var all []automation.Candidate
	for _, s := range subscribers {
		for _, line := range lines {
			all = append(all, automation.Candidate{Setting: s.name, Threshold: &automation.Threshold{
				Metric: "taken", Comparison: automation.AtLeast, Value: line, Reading: strconv.Itoa(taken), Policy: s.policy,
			}})
		}
	}
	return all, nil
}

// subscriber is asked when a reminder is due.
func subscriber(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
	return []notify.Recipient{{
		Ref: d.Setting.ID, Name: d.Setting.ID, Channel: "email:table", Address: d.Setting.ID + "@studio.example",
	}}, nil
}
