// Package belfry is Belfry as a contender, through its public API: work is
// ensured with automation.Scheduler.Ensure, and a Poller hands it to a handler
// that a host registered and that does nothing.
package belfry

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
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

// kind is the automation type of a host that the rows are of.
const kind = "bench"

type store interface {
	storage.Store
	io.Closer
}

// open opens the store that the task names.
func open(ctx context.Context, t contender.Task) (store, error) {
	if strings.HasPrefix(t.Database, "postgres://") {
		return postgres.Open(ctx, t.Database, &postgres.Options{Notify: true})
	}
	return sqlite.Open(ctx, t.Database, &sqlite.Options{Synchronous: sqlite.Synchronous(t.Synchronous)})
}

// scheduler serves kind with handle.
func scheduler(store storage.Store, handle automation.HandlerFunc) *automation.Scheduler {
	s := automation.New(store, notify.New(store, nil), nil)
	s.Handle(kind, handle)
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
