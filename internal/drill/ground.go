package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/lib/pq" // for the drill's own statements
	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// ground is where days are played: a folder for SQLite files, and one private
// PostgreSQL with its default durability.
type ground struct {
	sizes
	log    *slog.Logger
	dir    string
	server *pgtest.Server // nil before the first day on it
	name   string         // of the database of this day
	files  int            // and how many were made
	fills  int            // and of backlogs
}

func newGround(s sizes, log io.Writer) (*ground, error) {
	dir, err := os.MkdirTemp("", "belfry-drill-")
	if log == nil {
		log = io.Discard
	}
	return &ground{sizes: s, dir: dir, log: slog.New(slog.NewTextHandler(log, nil))}, err
}

func (g *ground) close() error {
	err := os.RemoveAll(g.dir)
	if g.server != nil {
		err = errors.Join(err, g.server.Remove())
	}
	return err
}

// playOn plays a day on databases at the same time, and tells the figures of each.
func (g *ground) playOn(ctx context.Context, names []string, d day) ([][]figure, error) {
	if slices.Contains(names, postgresName) && g.server == nil {
		var err error
		g.server, err = pgtest.Launch(&pgtest.Options{Settings: map[string]string{"timezone": "UTC", "log_min_messages": "log"}})
		if err != nil {
			return nil, err
		}
	}
	all, figures := errgroup.Group{}, make([][]figure, len(names))
	for i, name := range names {
		here := *g
		here.name = name
		all.Go(func() (err error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if figures[i], err = d.play(ctx, &here); err != nil {
				return fmt.Errorf("on %s: %w", name, err)
			}
			return nil
		})
	}
	return figures, all.Wait()
}

// database makes an empty one, and returns how to open and to remove it.
func (g *ground) database() (dsn string, drop func() error, err error) {
	if g.name == postgresName {
		dsn, err = g.server.CreateDatabase()
		return dsn, func() error {
			name := dsn[strings.LastIndex(dsn, "/")+1 : strings.Index(dsn, "?")]
			return g.exec(context.Background(), g.server.DSN(), "DROP DATABASE "+name+" WITH (FORCE)")
		}, err
	}
	g.files++
	path := filepath.Join(g.dir, fmt.Sprint(g.files, ".db"))
	return path, func() error {
		var errs []error
		for _, end := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(path + end); !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}, nil
}

// store is what a day works on.
type store interface {
	storage.Store
	io.Closer
	DB() *sql.DB
}

// open opens a database as a process of its own would.
func open(ctx context.Context, dsn string, clk driver.Clock) (store, error) {
	if isPostgres(dsn) {
		return postgres.Open(ctx, dsn, &postgres.Options{Clock: clk})
	}
	return sqlite.Open(ctx, dsn, &sqlite.Options{Clock: clk})
}

func isPostgres(dsn string) bool { return strings.HasPrefix(dsn, "postgres://") }

// with makes a database, opens it, and removes it when f is done.
func (g *ground) with(ctx context.Context, clk driver.Clock, f func(s store, dsn string) error) (err error) {
	dsn, drop, err := g.database()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	s, err := open(ctx, dsn, clk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(s, dsn)
}

// exec runs statements on a PostgreSQL, over a connection of its own.
func (g *ground) exec(ctx context.Context, dsn string, statements ...string) (err error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// settle lets what was written before a measurement not weigh on it.
func (g *ground) settle(ctx context.Context, s store) error {
	statements := []string{"PRAGMA wal_checkpoint(TRUNCATE)", "ANALYZE"}
	if g.name == postgresName {
		statements = []string{"VACUUM ANALYZE", "CHECKPOINT"}
	}
	for _, statement := range statements {
		if _, err := s.DB().ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// run lets a poller run until stop, which waits for its end.
func (g *ground) run(ctx context.Context, s storage.Store, o belfry.Options, services ...belfry.Service) (stop func() error) {
	o.Logger = cmp.Or(o.Logger, g.log)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- belfry.NewPoller(s, &o, services...).Run(ctx) }()
	return func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}
