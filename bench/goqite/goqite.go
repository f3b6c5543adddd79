// Package goqite is goqite on SQLite as a contender: as many goroutines as
// handlers may run receive a message and delete it, as in its own benchmark,
// which is faster than its job runner.
package goqite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver that goqite's own tests use
	"golang.org/x/sync/errgroup"
	"maragu.dev/goqite"

	"github.com/belfry-go/belfry/internal/contender"
)

// Works are what goqite does.
var Works = map[string]contender.Work{
	"fill":  fill,
	"drain": drain,
}

func open(t contender.Task) (*sql.DB, *goqite.Queue, error) {
	dsn := "file:" + t.Database + "?_journal=WAL&_timeout=5000&_fk=true&_synchronous=" + t.Synchronous
	if t.Tuned {
		dsn += "&_stmt_cache_size=64"
	}
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, nil, err
	}
	// Its README asks for few connections; one is the fastest.
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return db, goqite.New(goqite.NewOpts{DB: db, Name: "bench", Timeout: time.Minute}), nil
}

// create makes goqite's table with the statements of the release that runs here.
func create(ctx context.Context, db *sql.DB) error {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return fmt.Errorf("goqite: where is its module: %w", err)
	}
	schema, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema_sqlite.sql"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, string(schema))
	return err
}

func fill(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	db, q, err := open(t)
	if err != nil {
		return contender.Result{}, err
	}
	defer db.Close()
	if err := create(ctx, db); err != nil {
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
	for i := range t.Rows {
		body := fmt.Appendf(nil, "employee:e2c9f0b4-51d7-4a61-8f0e-%012d", t.From+i)
		if err := q.SendTx(ctx, tx, goqite.Message{Body: body}); err != nil {
			return contender.Result{}, err
		}
	}
	return contender.Between(t.Rows, began, contender.Clock.Now()), tx.Commit()
}

func drain(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	db, q, err := open(t)
	if err != nil {
		return contender.Result{}, err
	}
	defer db.Close()
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	var g errgroup.Group
	for range t.Handlers {
		g.Go(func() error { return work(ctx, run, q) })
	}
	if err := g.Wait(); err != nil {
		return contender.Result{}, err
	}
	return contender.Between(0, began, contender.Clock.Now()), nil
}

// work receives messages and deletes them until there are none.
func work(ctx context.Context, run *contender.Run, q *goqite.Queue) error {
	for ctx.Err() == nil {
		m, err := q.Receive(ctx)
		if ctx.Err() != nil {
			return nil // the others have done the last rows
		}
		if err != nil || m == nil {
			return err
		}
		if err := q.Delete(context.WithoutCancel(ctx), m.ID); err != nil {
			return err
		}
		run.Done(1)
	}
	return nil
}
