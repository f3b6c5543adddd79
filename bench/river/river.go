// Package river is River on PostgreSQL as a contender: its pgx driver, and the
// client settings that its own benchmark uses.
package river

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/belfry-go/belfry/internal/contender"
)

// Works are what River does.
var Works = map[string]contender.Work{
	"fill":    insert,
	"ensure":  insert,
	"drain":   drain,
	"send":    send,
	"receive": receive,
}

// args are about as large as Belfry's key and source.
type args struct {
	Source string `json:"source" river:"unique"`
}

func (args) Kind() string { return "bench" }

func open(ctx context.Context, t contender.Task) (*pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet()})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	return pool, err
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))
}

const batch = 1000

// insert makes the task's rows, unique by their arguments when the work is
// "ensure".
func insert(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	opts := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: t.Work == "ensure"}}
	return inserting(ctx, run, t, func(client *river.Client[pgx.Tx]) error {
		for n := 0; n < t.Rows; n += batch {
			params := make([]river.InsertManyParams, min(batch, t.Rows-n))
			for i := range params {
				params[i] = river.InsertManyParams{Args: args{fmt.Sprintf("employee:e2c9f0b4-51d7-4a61-8f0e-%012d", t.From+n+i)}, InsertOpts: opts}
			}
			if _, err := client.InsertMany(ctx, params); err != nil {
				return err
			}
		}
		return nil
	})
}

// inserting measures what a client that works no jobs does.
func inserting(ctx context.Context, run *contender.Run, t contender.Task, do func(*river.Client[pgx.Tx]) error) (contender.Result, error) {
	pool, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer pool.Close()
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet()})
	if err != nil {
		return contender.Result{}, err
	}
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	err = do(client)
	return contender.Between(t.Rows, began, contender.Clock.Now()), err
}

type worker struct {
	river.WorkerDefaults[args]
}

func (worker) Work(context.Context, *river.Job[args]) error { return nil }

// drain works jobs until it is told to stop. A job counts when River says that
// it is completed in the database.
func drain(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	pool, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer pool.Close()
	workers := river.NewWorkers()
	river.AddWorker(workers, worker{})
	client, err := newClient(pool, workers, t)
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
	last := began
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-events:
			run.Done(1)
			last = contender.Clock.Now()
		}
	}
	return contender.Between(0, began, last), client.Stop(context.WithoutCancel(ctx))
}

// newClient has the settings of River's own benchmark.
func newClient(pool *pgxpool.Pool, workers *river.Workers, t contender.Task) (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Logger: quiet(), Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: t.Handlers}},
	})
}

// stamp is a job that knows when its insertion began, in Unix nanoseconds.
type stamp struct {
	Began int64 `json:"began"`
}

func (stamp) Kind() string { return "stamped" }

// send inserts jobs that are due at once, one at a time.
func send(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	return inserting(ctx, run, t, func(client *river.Client[pgx.Tx]) error {
		return contender.Paced(ctx, t.Rows, func(now time.Time) error {
			_, err := client.Insert(ctx, stamp{now.UnixNano()}, nil)
			return err
		})
	})
}

// receiver notes how long each job took to come here.
type receiver struct {
	river.WorkerDefaults[stamp]
	run *contender.Run
	mu  sync.Mutex
	ms  []float64
}

func (r *receiver) Work(_ context.Context, job *river.Job[stamp]) error {
	ms := float64(contender.Clock.Now().UnixNano()-job.Args.Began) / 1e6
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ms = append(r.ms, ms)
	r.run.Done(1)
	return nil
}

func receive(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	pool, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer pool.Close()
	workers, r := river.NewWorkers(), &receiver{run: run}
	river.AddWorker(workers, r)
	client, err := newClient(pool, workers, t)
	if err != nil {
		return contender.Result{}, err
	}
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return contender.Result{}, err
	}
	<-ctx.Done()
	err = client.Stop(context.WithoutCancel(ctx))
	result := contender.Between(t.Rows, began, contender.Clock.Now())
	result.Values = contender.Waits(r.ms)
	return result, err
}
