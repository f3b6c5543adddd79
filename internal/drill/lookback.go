package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// handledBound is how long a row may wait that another process made due.
const handledBound = 5 * time.Second

// lookBack is a day on which a long transaction keeps hundreds of thousands of dead index
// entries, in another order than their rows lie on the disk. A row that another process
// makes due before them, and any row after a restart, is behind them.
func lookBack(ctx context.Context, g *ground) (figures []figure, err error) {
	err = g.with(ctx, nil, func(theirs store, dsn string) error {
		d := &deadEntries{g: g, dsn: dsn, ensures: plain(theirs, nil)}
		figures, err = d.play(ctx)
		return err
	})
	return figures, err
}

// plainKind is an automation type whose rows have a handler that does nothing else.
const plainKind = "plain"

// plain is a program that tells seen which rows it has handled; nil: it only ensures.
func plain(s storage.Store, seen func(due []automation.Due)) *automation.Scheduler {
	a := automation.New(s, notify.New(s, nil), nil)
	if seen != nil {
		a.Handle(automation.WorkType{Name: plainKind, Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			seen(due)
			return make([]automation.Outcome, len(due)), nil
		})})
	}
	return a
}

func plainRow(name string, on time.Time) automation.Candidate {
	return automation.Candidate{AutomationType: plainKind, Source: automation.Source{Type: "row", ID: name}, ScheduledOn: on}
}

// deadEntries is that day.
type deadEntries struct {
	g       *ground
	dsn     string
	ensures *automation.Scheduler // of another process
	seen    arrivals
	started time.Time
}

func (d *deadEntries) play(ctx context.Context) (figures []figure, err error) {
	d.started = wall.Now().Add(-24 * time.Hour)
	if err := d.fill(ctx); err != nil {
		return nil, err
	}
	end, err := openSnapshot(ctx, d.dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	stop, err := d.process(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.seen.count(ctx, d.g.dead); err != nil {
		return nil, errors.Join(err, stop())
	}
	late, err := d.late(ctx)
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	again, err := d.restarted(ctx)
	bound := handledBound
	return []figure{
		within(fmt.Sprintf("past-due row of another process, %d dead entries:", d.g.dead), late, bound),
		within("new row after a restart:", again, bound),
	}, err
}

// fill makes rows whose moments lie anywhere in a day, which soon are dead entries.
func (d *deadEntries) fill(ctx context.Context) error {
	const batch, stride = 1000, 7919 // a prime
	for n := 0; n < d.g.dead; n += batch {
		rows := make([]automation.Candidate, min(batch, d.g.dead-n))
		for i := range rows {
			place := (n + i) * stride % d.g.dead
			rows[i] = plainRow(fmt.Sprint("dead ", n+i), d.started.Add(time.Duration(place)*time.Millisecond))
		}
		if _, err := d.ensures.Ensure(ctx, rows...); err != nil {
			return err
		}
	}
	return nil
}

// process is a process that polls, with a store of its own.
func (d *deadEntries) process(ctx context.Context) (stop func() error, err error) {
	s, err := open(ctx, d.dsn, nil)
	if err != nil {
		return nil, err
	}
	end := d.g.run(ctx, s, belfry.Options{}, plain(s, func(due []automation.Due) {
		for _, row := range due {
			d.seen.add(row.Source.ID)
		}
	}))
	return func() error { return errors.Join(end(), s.Close()) }, nil
}

// restarts is how often each of the two is tried.
const restarts = 5

// late is the longest time that a row waited whose moment was in the past when another
// process made it, among the dead entries.
func (d *deadEntries) late(ctx context.Context) (worst time.Duration, err error) {
	for i := range restarts {
		place := time.Duration(d.g.dead*i/restarts) * time.Millisecond
		took, err := d.timed(ctx, fmt.Sprint("late ", i), d.started.Add(place-time.Second))
		if err != nil {
			return worst, err
		}
		worst = max(worst, took)
	}
	return worst, nil
}

// restarted is the longest time that a due row waited for a process that starts.
func (d *deadEntries) restarted(ctx context.Context) (worst time.Duration, err error) {
	for i := range restarts {
		stop, err := d.process(ctx)
		if err != nil {
			return worst, err
		}
		took, err := d.timed(ctx, fmt.Sprint("new ", i), wall.Now())
		if err = errors.Join(err, stop()); err != nil {
			return worst, err
		}
		worst = max(worst, took)
	}
	return worst, nil
}

// timed ensures a row from the other process, and says after what time it was handled.
func (d *deadEntries) timed(ctx context.Context, name string, on time.Time) (time.Duration, error) {
	began := wall.Now()
	if _, err := d.ensures.Ensure(ctx, plainRow(name, on)); err != nil {
		return 0, err
	}
	at, err := d.seen.of(ctx, name)
	return at.Sub(began), err
}

// openSnapshot begins a transaction that sees a PostgreSQL as it is now, until it is
// ended.
func openSnapshot(ctx context.Context, dsn string) (end func() error, err error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err == nil {
		_, err = tx.ExecContext(ctx, "SELECT txid_current()")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func() error { return errors.Join(tx.Rollback(), db.Close()) }, nil
}
