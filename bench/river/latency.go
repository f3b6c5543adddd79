package river

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/belfry-go/belfry/internal/contender"
)

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
