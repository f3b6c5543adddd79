package postgres

import (
	"context"
	"database/sql"
	"sync/atomic"

	"github.com/benbjohnson/clock"
	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// Store is a storage.Store on PostgreSQL. Its methods may be called from any
// number of goroutines, and any number of stores may work on one database.
type Store struct {
	*sqlstore.Store
	db   *sql.DB
	pool *sql.DB // db if it is ours to close
	time atomic.Pointer[serverClock]
	news atomic.Pointer[herald]
}

// open checks the server and builds the store on s.db. migrating wraps what may
// take long.
func (s *Store) open(ctx context.Context, o Options, migrate Migrate, migrating func(func() error) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	now := o.Clock
	if now == nil {
		local := clock.New()
		follow, err := newServerClock(ctx, local, monotonic(local), serverTime(s.db))
		if err != nil {
			return err
		}
		s.time.Store(follow)
		now = follow
	}
	if o.Migrate != "" {
		migrate = o.Migrate
	}
	return migrating(func() (err error) {
		s.Store, err = sqlstore.New(ctx, sqlstore.Config{
			Dialect:          sqlstore.PostgreSQL,
			Writer:           sqlx.NewDb(s.db, "postgres"),
			Classify:         s.classify,
			Clock:            now,
			Rand:             o.Rand,
			Environment:      o.Environment,
			BlobDir:          o.BlobDir,
			Schema:           o.Schema,
			Prefix:           o.TablePrefix,
			Migrations:       migrations(),
			Migrate:          migrate,
			SystemIdentifier: func(ctx context.Context) (string, error) { return systemIdentifier(ctx, s.db) },
			Watch:            watch,
			Grace:            commitGrace,
			Committed:        s.committed,
			Outer:            s,
		})
		return err
	})
}

// check refuses a server, or a host's way to it, that is not safe.
func (s *Store) check(ctx context.Context) error {
	err := checkServer(ctx, s.db)
	if err == nil && s.pool == nil {
		err = checkPool(ctx, s.db)
	}
	if mislaid(err) {
		return errTwoStep
	}
	return err
}

// classify looks at the clock again after a connection was lost: what comes
// next may be another server.
func (s *Store) classify(err error) sqlstore.Class {
	class := classify(err)
	if class == sqlstore.Connection {
		s.reconnected()
	}
	return class
}

func (s *Store) reconnected() {
	if c := s.time.Load(); c != nil {
		c.Reconnected()
	}
}

// notify starts to pass hints between processes, unless a pooler is in the way.
func (s *Store) notify(ctx context.Context, o Options, dsn string) error {
	if shared, err := pooled(ctx, s.db); err != nil || shared {
		return err
	}
	h := newHerald(s.db, o.Schema+"."+o.TablePrefix, s.Waker())
	h.start(listener(dsn))
	s.news.Store(h)
	return nil
}

func (s *Store) committed(hints storage.Hints) {
	if h := s.news.Load(); h != nil {
		h.committed(hints)
	}
}

// DB returns the pool that the store works on: the host's own, or the one that
// Open made, whose transactions the host may then join.
func (s *Store) DB() *sql.DB { return s.db }

// Close stops following the server's clock and closes the pool if Open made it.
// Nothing may use the store any more. Closing twice is allowed.
func (s *Store) Close() error {
	if h := s.news.Load(); h != nil {
		h.Close()
	}
	if c := s.time.Load(); c != nil {
		c.Close()
	}
	if s.pool == nil {
		return nil
	}
	return s.pool.Close()
}
