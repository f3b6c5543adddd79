package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// match is a piece of work that sides do in turns, and the goals that it decides.
type match struct {
	title string
	sides []side
	goals []goal
}

// side does the work once and returns what it measured, by name.
type side struct {
	name string
	play func(ctx context.Context) (map[string]float64, error)
	// long work has no warm-up, and longRounds at most.
	long bool
}

const longRounds = 3

// patience is how long a side may take for a round: one that has lost a row
// would wait for it forever.
const patience = 10 * time.Minute

// scores are what a side measured in all rounds, by name.
type scores map[string][]float64

// rounds lets the sides take turns, after a round that does not count. The order
// is turned round each time, so that nobody is always the second.
func (m match) rounds(ctx context.Context, n int, progress io.Writer) (map[string]scores, error) {
	all := map[string]scores{}
	for round := -1; round < n; round++ {
		order := slices.Clone(m.sides)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			if s.long && (round < 0 || round >= longRounds) {
				continue
			}
			values, err := s.within(ctx, patience)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", m.title, s.name, err)
			}
			fmt.Fprintf(progress, "%s, round %d: %s %s\n", m.title, round+1, s.name, line(values))
			if round >= 0 {
				all[s.name] = all[s.name].add(values)
			}
		}
	}
	return all, nil
}

// within plays, and gives up after a time.
func (s side) within(ctx context.Context, limit time.Duration) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	values, err := s.play(ctx)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return values, nil
}

func (s scores) add(values map[string]float64) scores {
	if s == nil {
		s = scores{}
	}
	for name, v := range values {
		s[name] = append(s[name], v)
	}
	return s
}

func line(values map[string]float64) string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	text := ""
	for _, name := range names {
		text += fmt.Sprintf(" %s %s", name, figure(values[name]))
	}
	return text
}

// median of an odd number is the middle one, of an even one the mean of two.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// figure writes a number with three or more digits that count.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
