package belfry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/contender"
)

// insert ensures the task's rows, all of them due.
func insert(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer store.Close()
	s := scheduler(store, nothing)
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	const batch = 1000
	for n := 0; n < t.Rows; n += batch {
		if _, err := s.Ensure(ctx, candidates(t, n, min(batch, t.Rows-n))...); err != nil {
			return contender.Result{}, err
		}
	}
	return contender.Between(t.Rows, began, contender.Clock.Now()), nil
}

// stride is a prime, so that each row comes once.
const stride = 7919

// candidates are rows n to n+count of a task.
func candidates(t contender.Task, n, count int) []automation.Candidate {
	out := make([]automation.Candidate, count)
	for i := range out {
		number := t.From + n + i
		if t.Order == "scattered" {
			number = t.From + (n+i)*stride%t.Rows
		}
		out[i] = automation.Candidate{
			AutomationType: kind, Lane: t.Lane,
			Source:      automation.Source{Type: "employee", ID: fmt.Sprintf("e2c9f0b4-51d7-4a61-8f0e-%012d", number)},
			ScheduledOn: dueOn(t, number),
		}
	}
	return out
}

// dueOn is a moment in the past: one millisecond after that of the row before,
// or anywhere among them.
func dueOn(t contender.Task, number int) time.Time {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if t.Order == "random" {
		number = rand.New(rand.NewPCG(uint64(number), 1)).IntN(max(t.Rows, 1))
	}
	return start.Add(time.Duration(number) * time.Millisecond)
}

func nothing(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
	return make([]automation.Outcome, len(due)), nil
}
