package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
)

// drain lets n processes of one side work together until all rows are done, and
// returns the rows per second from the first go to the last end.
func (a *arena) drain(ctx context.Context, side string, n int, t contender.Task) (float64, error) {
	results, rows, err := a.drainAll(ctx, side, n, t)
	if err != nil {
		return 0, err
	}
	return float64(rows) / span(results).Seconds(), nil
}

// drainAll tells how many rows were done. Each row has to be reported once; more
// or fewer is an error, not a figure.
func (a *arena) drainAll(ctx context.Context, side string, n int, t contender.Task) ([]contender.Result, int, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the processes if one fails
	defer cancel()
	t.Work = "drain"
	processes := make([]*contender.Process, n)
	for i := range processes {
		p, err := contender.Start(ctx, a.command(side), t)
		if err != nil {
			return nil, 0, err
		}
		processes[i] = p
	}
	results, rows, err := together(processes, t.Rows, cancel)
	if err == nil {
		err = exactly(side, rows, t)
	}
	return results, rows, err
}

// exactly refuses what would be a figure of lost or repeated rows.
func exactly(side string, rows int, t contender.Task) error {
	if rows < t.Rows || rows > t.Rows && !t.AtLeast {
		return fmt.Errorf("%s: %d rows were done, of %d", side, rows, t.Rows)
	}
	return nil
}

// together starts the processes at once, stops them when all rows are done, and
// waits for what they say.
func together(processes []*contender.Process, rows int, fail func()) ([]contender.Result, int, error) {
	for _, p := range processes {
		if err := p.Go(); err != nil {
			return nil, 0, err
		}
	}
	var done atomic.Int64
	results := make([]contender.Result, len(processes))
	var g errgroup.Group
	for i, p := range processes {
		g.Go(func() (err error) {
			results[i], err = p.Wait(func(n int) {
				if before := done.Add(int64(n)) - int64(n); before < int64(rows) && before+int64(n) >= int64(rows) {
					for _, p := range processes {
						_ = p.Stop() // one that has ended needs no order
					}
				}
			})
			if err != nil {
				fail()
			}
			return err
		})
	}
	err := g.Wait()
	return results, int(done.Load()), err
}

// span is from the first beginning to the last end.
func span(results []contender.Result) contender.Result {
	all := results[0]
	for _, r := range results {
		all.Began, all.Ended = min(all.Began, r.Began), max(all.Ended, r.Ended)
	}
	return all
}

// nameOf is the name of a PostgreSQL database, or the path of a file.
func nameOf(database string) (name string, isFile bool) {
	u, err := url.Parse(database)
	if err != nil || u.Scheme == "" {
		return database, true
	}
	return strings.TrimPrefix(u.Path, "/"), false
}

// drainOnce is a whole round: an empty database, filled, drained, and dropped.
func (a *arena) drainOnce(ctx context.Context, side string, processes int, t contender.Task, create func() (string, error)) (map[string]float64, error) {
	return a.within(ctx, create, func(database string) (map[string]float64, error) {
		t.Database = database
		if err := a.fill(ctx, side, t); err != nil {
			return nil, err
		}
		r, err := a.drain(ctx, side, processes, t)
		return map[string]float64{rate: r}, err
	})
}
