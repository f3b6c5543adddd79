package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"github.com/belfry-go/belfry/internal/contender"
)

type worker struct {
	river.WorkerDefaults[args]
}

func (worker) Work(context.Context, *river.Job[args]) error { return nil }

// drain works jobs until it is told to stop. A job counts when River says that
// it is completed in the database.
func drain(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	db, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer db.Close()
	client, err := newClient(db, t)
	if err != nil {
		return contender.Result{}, err
	}
	events, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: t.Rows + 1, Kinds: []river.EventKind{river.EventKindJobCompleted},
	})
	defer unsubscribe()
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return contender.Result{}, err
	}
	rows, last := count(ctx, run, events, began)
	return contender.Between(rows, began, last), client.Stop(context.WithoutCancel(ctx))
}

// count counts completed jobs until ctx ends, and tells when the last came.
func count(ctx context.Context, run *contender.Run, events <-chan *river.Event, last time.Time) (int, time.Time) {
	for rows := 0; ; rows++ {
		select {
		case <-ctx.Done():
			return rows, last
		case <-events:
			run.Done(1)
			last = contender.Clock.Now()
		}
	}
}

// newClient has the settings of River's own benchmark.
func newClient(db *sql.DB, t contender.Task) (*river.Client[*sql.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, worker{})
	return river.NewClient(riversqlite.New(db), &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Logger: quiet(), Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: t.Handlers}},
	})
}
