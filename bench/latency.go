package main

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/storage"
)

// latency measures the time from just before a row is inserted, by another
// process, to the start of its handler in an idle worker; and, of Belfry alone,
// in one that drains a long bulk lane while the inserted rows are urgent.
func (a *arena) latency(s sizes) match {
	t := contender.Task{Rows: s.samples, Handlers: s.handlers}
	play := func(name string) side {
		return side{name: name, play: func(ctx context.Context) (map[string]float64, error) {
			return a.within(ctx, a.postgres, func(database string) (map[string]float64, error) {
				return a.deliver(ctx, name, database, t)
			})
		}}
	}
	busy := side{name: busyName, long: true, play: func(ctx context.Context) (map[string]float64, error) {
		return a.within(ctx, a.postgres, func(database string) (map[string]float64, error) {
			return a.deliverUrgent(ctx, database, s.large, t)
		})
	}}
	return match{title: "P5", sides: []side{play(us), play("river"), busy}, goals: []goal{{
		id: "P5", about: "inserted to handler start, idle, p99", unit: "ms", floor: 1, target: 1,
		judge: with(below("p99_ms", "river"), waits),
	}}}
}

const busyName = "busy"

// waits are the medians beside P5's own. That a bulk row was left says that the
// urgent ones were never alone.
func waits(all map[string]scores) map[string]float64 {
	return map[string]float64{
		"p50_ms": median(all[us]["p50_ms"]), "river_p50_ms": median(all["river"]["p50_ms"]),
		"urgent_beside_bulk_p50_ms": median(all[busyName]["p50_ms"]), "urgent_beside_bulk_p99_ms": median(all[busyName]["p99_ms"]),
		"bulk_rows_left": contender.Quantile(all[busyName]["bulk_rows_left"], 0),
	}
}

// deliver lets one process of a side wait for the rows that another inserts.
func (a *arena) deliver(ctx context.Context, name, database string, t contender.Task) (map[string]float64, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the receiver if the sender fails
	defer cancel()
	t.Database, t.Work = database, "receive"
	receiver, err := contender.Start(ctx, a.command(name), t)
	if err != nil {
		return nil, err
	}
	var received []contender.Result
	var rows int
	var g errgroup.Group
	g.Go(func() (err error) {
		received, rows, err = together([]*contender.Process{receiver}, t.Rows, cancel)
		return err
	})
	t.Work = "send"
	if _, err = a.run(ctx, name, t); err != nil {
		cancel()
	}
	if err = errors.Join(err, g.Wait()); err == nil {
		err = exactly(name, rows, t)
	}
	if err != nil {
		return nil, err
	}
	return received[0].Values, nil
}

// deliverUrgent is deliver while the receiver has a long bulk lane to drain.
func (a *arena) deliverUrgent(ctx context.Context, database string, bulk int, t contender.Task) (map[string]float64, error) {
	if err := a.fill(ctx, us, contender.Task{Database: database, Rows: bulk, Lane: storage.LaneBulk}); err != nil {
		return nil, err
	}
	t.Lane = storage.LaneUrgent
	values, err := a.deliver(ctx, us, database, t)
	if err != nil {
		return nil, err
	}
	values["bulk_rows_left"], err = a.count(ctx, database, "SELECT count(*) FROM automation_scheduler WHERE due_on IS NOT NULL")
	return values, err
}
