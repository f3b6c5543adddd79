package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"

	_ "github.com/mattn/go-sqlite3" // Belfry's driver; with modernc.org/sqlite River is slower
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/belfry-go/belfry/internal/contender"
)

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
