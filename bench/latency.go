package main

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
)

// latency measures the time from just before a row is inserted, by another
// process, to the start of its handler in an idle worker.
func (a *arena) latency(s sizes) match {
	play := func(name string) side {
		return side{name, func(ctx context.Context) (map[string]float64, error) {
			return a.deliver(ctx, name, contender.Task{Rows: s.samples, Handlers: s.handlers})
		}}
	}
	return match{title: "P5", sides: []side{play(us), play("river")}, goals: []goal{{
		id: "P5", about: "inserted to handler start, idle, p99", unit: "ms", floor: 1, target: 1, judge: with(below("p99_ms", "river"),
			func(all map[string]scores) map[string]float64 {
				return map[string]float64{"p50_ms": median(all[us]["p50_ms"]), "river_p50_ms": median(all["river"]["p50_ms"])}
			}),
	}}}
}

// deliver lets one process of a side wait for the rows that another inserts.
func (a *arena) deliver(ctx context.Context, name string, t contender.Task) (values map[string]float64, err error) {
	if t.Database, err = a.postgres(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.drop(ctx, t.Database)) }()
	t.Work = "receive"
	receiver, err := contender.Start(ctx, a.command(name), t)
	if err != nil {
		return nil, err
	}
	var received []contender.Result
	var g errgroup.Group
	g.Go(func() (err error) {
		received, _, err = together([]*contender.Process{receiver}, t.Rows, func() {})
		return err
	})
	t.Work = "send"
	_, err = a.run(ctx, name, t)
	if err = errors.Join(err, g.Wait()); err != nil {
		return nil, err
	}
	return received[0].Values, nil
}
