package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
)

// longBound is how much more a row may cost at the head of a very long backlog.
const longBound = 1.3

// long is a day with a backlog of ten million rows. Its guard on PostgreSQL is
// TestGuardNoStatementIsCompiled.
func long(ctx context.Context, g *ground) (figures []figure, err error) {
	err = g.with(ctx, nil, func(s store, _ string) error {
		deep := &queue{g, s}
		if err := deep.fill(ctx, g.long); err != nil {
			return err
		}
		return g.with(ctx, nil, func(s store, _ string) error {
			short := &queueAlone{queue{g, s}}
			share, rate, err := shares(ctx, g.rounds, g.short, deep, short)
			figures = []figure{atMost(
				fmt.Sprintf("a row of %d against %d alone (%.0f us), cost", g.long, g.short, 1e6/rate), 1/share, longBound)}
			return err
		})
	})
	return figures, err
}

// queue is a backlog from whose head rows are taken.
type queue struct {
	g *ground
	s store
}

// fill makes so many due rows.
func (q *queue) fill(ctx context.Context, n int) error {
	q.g.fills++
	row := plainRow(fmt.Sprint("row ", q.g.fills), wall.Now())
	if _, err := plain(q.s, nil).Ensure(ctx, row); err != nil {
		return err
	}
	if err := q.g.multiply(ctx, q.s, "automation_scheduler", n-1); err != nil {
		return err
	}
	return q.g.settle(ctx, q.s)
}

// rate is how many rows a second are handled, of the first n.
func (q *queue) rate(ctx context.Context, n int) (float64, error) {
	var done tally
	all := done.after(n)
	stop := q.g.run(ctx, q.s, belfry.Options{}, plain(q.s, func(due []automation.Due) { done.add(len(due)) }))
	err := reach(ctx, all, fmt.Sprint(n, " rows"))
	return done.rate(), errors.Join(err, stop())
}

// queueAlone is one that holds no more than what is taken.
type queueAlone struct{ queue }

func (q *queueAlone) rate(ctx context.Context, n int) (float64, error) {
	if err := q.fill(ctx, n); err != nil {
		return 0, err
	}
	return q.queue.rate(ctx, n)
}
