package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	_ "github.com/lib/pq" // for the arena's own statements

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/internal/pgtest"
)

// arena is where contenders meet: one private PostgreSQL with its default
// durability, one folder for SQLite files, one program for each side.
type arena struct {
	server *pgtest.Server
	dir    string
	self   string
	sqlite string // the program of River's SQLite driver
	files  int
}

// newArena starts the server and builds what is not in this program.
func newArena(ctx context.Context) (*arena, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "belfry-bench-")
	if err != nil {
		return nil, err
	}
	a := &arena{dir: dir, self: self, sqlite: filepath.Join(dir, "riversqlite")}
	err = a.build(ctx)
	if err == nil {
		a.server, err = pgtest.Launch(&pgtest.Options{Settings: map[string]string{"timezone": "UTC", "log_min_messages": "error"}})
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// build compiles the program that is a module of its own.
func (a *arena) build(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", a.sqlite, ".")
	build.Dir = "riversqlite"
	build.Stderr = os.Stderr
	return build.Run()
}

func (a *arena) close() error {
	err := os.RemoveAll(a.dir)
	if a.server != nil {
		err = errors.Join(err, a.server.Remove())
	}
	return err
}

// command is how a contender is started.
func (a *arena) command(side string) []string {
	if side == "river-sqlite" {
		return []string{a.sqlite}
	}
	return []string{a.self, "contender", side}
}

// postgres makes an empty database.
func (a *arena) postgres() (string, error) { return a.server.CreateDatabase() }

// file names a new SQLite file.
func (a *arena) file() (string, error) {
	a.files++
	return filepath.Join(a.dir, fmt.Sprintf("%d.db", a.files)), nil
}

// settle gives every side the same start: statistics are fresh, and what was
// written before is on the disk.
func (a *arena) settle(ctx context.Context, dsn string) error {
	return a.exec(ctx, dsn, "VACUUM ANALYZE", "CHECKPOINT")
}

func (a *arena) exec(ctx context.Context, dsn string, statements ...string) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// count asks a database for one number.
func (a *arena) count(ctx context.Context, dsn, query string) (n float64, err error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// drop removes a database that a round is done with.
func (a *arena) drop(ctx context.Context, database string) error {
	name, isFile := nameOf(database)
	if isFile {
		matches, err := filepath.Glob(name + "*")
		for _, m := range matches {
			err = errors.Join(err, os.Remove(m))
		}
		return err
	}
	return a.exec(ctx, a.server.DSN(), "DROP DATABASE "+name+" WITH (FORCE)")
}

// within makes a database for f, and drops it at the end.
func (a *arena) within(ctx context.Context, create func() (string, error), f func(database string) (map[string]float64, error)) (values map[string]float64, err error) {
	database, err := create()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.drop(context.WithoutCancel(ctx), database)) }()
	return f(database)
}

// fill lets a side insert rows, and gives them the same start as all others.
func (a *arena) fill(ctx context.Context, side string, t contender.Task) error {
	t.Work, t.Profile = "fill", ""
	if _, err := a.run(ctx, side, t); err != nil {
		return err
	}
	if _, isFile := nameOf(t.Database); isFile {
		return nil
	}
	return a.settle(ctx, t.Database)
}

// run does one task of one contender.
func (a *arena) run(ctx context.Context, side string, t contender.Task) (contender.Result, error) {
	p, err := contender.Start(ctx, a.command(side), t)
	if err != nil {
		return contender.Result{}, err
	}
	if err := p.Go(); err != nil {
		return contender.Result{}, errors.Join(err, p.Kill())
	}
	return p.Wait(func(int) {})
}
