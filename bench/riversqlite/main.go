// Command riversqlite is River on SQLite as a contender. It is a module of its
// own because the newest release of River's SQLite driver that could be had when
// it was written, v0.47.0, does not compile with the River that the comparison
// uses on PostgreSQL, v0.51.0. Here River is of the driver's release.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	_ "github.com/mattn/go-sqlite3" // Belfry's driver; with modernc.org/sqlite River is slower
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/belfry-go/belfry/internal/contender"
)

var works = map[string]contender.Work{
	"fill":  fill,
	"drain": drain,
}

func main() {
	if err := contender.Serve(os.Stdin, os.Stdout, works); err != nil {
		fmt.Fprintln(os.Stderr, "riversqlite:", err)
		os.Exit(1)
	}
}

const settings = "?_journal=WAL&_timeout=5000&_txlock=immediate&_synchronous="

// tuned keeps prepared statements. River needs much less time for a row then, since
// it has the same statement prepared anew for each row of a batch.
const tuned = "&_stmt_cache_size=64"

// open opens the task's file with River's tables in it.
func open(ctx context.Context, t contender.Task) (*sql.DB, error) {
	dsn := "file:" + t.Database + settings + t.Synchronous
	if t.Tuned {
		dsn += tuned
	}
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // as the documentation of River's driver recommends
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	m, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))
}

const batch = 1000

// args are about as large as Belfry's key and source.
type args struct {
	Source string `json:"source"`
}

func (args) Kind() string { return "bench" }

// fill makes the task's rows in one transaction.
func fill(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	db, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer db.Close()
	client, err := river.NewClient(riversqlite.New(db), &river.Config{Logger: quiet()})
	if err != nil {
		return contender.Result{}, err
	}
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return contender.Result{}, err
	}
	defer tx.Rollback()
	if err := insert(ctx, client, tx, t); err != nil {
		return contender.Result{}, err
	}
	if err := tx.Commit(); err != nil {
		return contender.Result{}, err
	}
	return contender.Between(t.Rows, began, contender.Clock.Now()), nil
}

func insert(ctx context.Context, client *river.Client[*sql.Tx], tx *sql.Tx, t contender.Task) error {
	for n := 0; n < t.Rows; n += batch {
		params := make([]river.InsertManyParams, min(batch, t.Rows-n))
		for i := range params {
			params[i].Args = args{fmt.Sprintf("employee:e2c9f0b4-51d7-4a61-8f0e-%012d", t.From+n+i)}
		}
		if _, err := client.InsertManyFastTx(ctx, tx, params); err != nil {
			return err
		}
	}
	return nil
}

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
