// Package belfry is Belfry as a contender, through its public API: work is
// ensured with automation.Scheduler.Ensure, and a Poller hands it to a handler
// that a host registered and that does nothing.
package belfry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/pgx"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// Works are what Belfry does.
var Works = map[string]contender.Work{
	"fill":    insert,
	"ensure":  insert,
	"drain":   drain,
	"send":    send,
	"receive": receive,
	"idle":    idle,
	"memory":  verbs,
}

// OnPgx are the works on PostgreSQL, through pgx.
var OnPgx = map[string]contender.Work{"fill": throughPgx(insert), "ensure": throughPgx(insert), "drain": throughPgx(drain)}

const pgxPrefix = "pgx+"

func throughPgx(w contender.Work) contender.Work {
	return func(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
		t.Database = pgxPrefix + t.Database
		return w(ctx, run, t)
	}
}

// kind is the automation type of a host that the rows are of.
const kind = "bench"

type store interface {
	storage.Store
	io.Closer
}

// open opens the store that the task names.
func open(ctx context.Context, t contender.Task) (store, error) {
	if dsn, ok := strings.CutPrefix(t.Database, pgxPrefix); ok {
		return pgx.Open(ctx, dsn, &pgx.Options{Notify: true})
	}
	if strings.HasPrefix(t.Database, "postgres://") {
		return postgres.Open(ctx, t.Database, &postgres.Options{Notify: true})
	}
	return sqlite.Open(ctx, t.Database, &sqlite.Options{Synchronous: sqlite.Synchronous(t.Synchronous)})
}

// scheduler serves kind with handle.
func scheduler(store storage.Store, handle automation.HandlerFunc) *automation.Scheduler {
	s := automation.New(store, notify.New(store, nil), nil)
	s.Handle(automation.WorkType{Name: kind, Handler: handle})
	return s
}

// poll lets p run until the work is told to stop, and returns when it was told to
// go.
func poll(ctx context.Context, run *contender.Run, p *belfry.Poller) (began time.Time, err error) {
	if began, err = run.Go(ctx); err != nil {
		return began, err
	}
	if err := p.Run(ctx); ctx.Err() == nil {
		return began, err
	}
	return began, nil
}

// options are the defaults, but for the number of handlers.
func options(t contender.Task) *belfry.Options {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return &belfry.Options{Concurrency: t.Handlers, Logger: log}
}

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

// drain handles rows until it is told to stop, and ends when all that it has
// handled is settled.
func drain(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer store.Close()
	s := scheduler(store, func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		run.Done(len(due))
		return make([]automation.Outcome, len(due)), nil
	})
	claims, o := &meter{instrument: "belfry.claim.duration"}, options(t)
	o.MeterProvider = claims
	p := belfry.NewPoller(store, o, s)
	began, err := poll(ctx, run, p)
	if err != nil {
		return contender.Result{}, err
	}
	result := contender.Between(0, began, contender.Clock.Now())
	result.Values = map[string]float64{"claim_p50_ms": claims.quantile(0.5) * 1000, "claim_p99_ms": claims.quantile(0.99) * 1000}
	return result, nil
}

// idle polls a store that holds nothing, with all the passes there are.
func idle(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer store.Close()
	out := notify.New(store, nil)
	s := automation.New(store, out, nil)
	p := belfry.NewPoller(store, options(t), s, out)
	began, err := poll(ctx, run, p)
	if err != nil {
		return contender.Result{}, err
	}
	result := contender.Between(0, began, contender.Clock.Now())
	result.Values = map[string]float64{"passes": float64(len(s.Passes()) + len(out.Passes()))}
	return result, nil
}
