package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Condition is what is known of the condition that a threshold's key stands for.
type Condition struct {
	// Threshold is what was compared last. Before the first reading it has what
	// the key says.
	Threshold Threshold
	// Met is what the last reading said, of SourceVersion; zero: without versions.
	Met           bool
	SourceVersion int64
	// Rises is how often the condition has risen from not met to met, the first
	// reading included.
	Rises int64
}

// loadCondition loads the condition of a key; nil if the key is of no threshold.
func loadCondition(ctx context.Context, tx storage.Tx, scope Scope, text string) (*Condition, error) {
	parsed, _ := keys.Parse(text) // what cannot be parsed stands for none
	key, ok := parsed.(keys.Threshold)
	if !ok {
		return nil, nil
	}
	f := key.Firing()
	c := &Condition{Threshold: Threshold{Metric: key.Metric, Value: f.Value, Policy: f.Policy, Scope: f.Scope}}
	place, err := stateKey(key)
	if err != nil {
		return nil, err
	}
	state, err := thresholdStates.Get(ctx, tx, scope, place)
	if errors.Is(err, storage.ErrNotFound) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.Threshold.Comparison, c.Threshold.Value, c.Threshold.Reading = state.Comparison, state.Value, state.Reading
	c.Met, c.SourceVersion, c.Rises = state.Met, state.SourceVersion, state.Rises
	return c, nil
}

// String says it in one line.
func (c *Condition) String() string {
	t := c.Threshold
	words := []string{t.Metric, comparisons[t.Comparison].words, t.Value}
	if t.Policy != OncePerSource {
		words = append(words, "in", t.Scope)
	}
	words = append(words, "("+string(t.Policy)+"),", c.last())
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// last says what the last reading was.
func (c *Condition) last() string {
	t := c.Threshold
	if t.Reading == "" {
		return "no reading yet"
	}
	verdict := "not met"
	if c.Met {
		verdict = "met"
	}
	text := fmt.Sprintf("last reading %s: %s", t.Reading, verdict)
	if c.SourceVersion > 0 {
		text += fmt.Sprintf(", version %d", c.SourceVersion)
	}
	return fmt.Sprintf("%s; rises so far: %d", text, c.Rises)
}

// missing says why a condition has no row, if that follows from its readings.
func (c *Condition) missing() string {
	if c == nil || c.Met {
		return ""
	}
	return "there is no row: " + c.String()
}
