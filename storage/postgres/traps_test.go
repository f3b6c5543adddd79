package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

func TestTraps(t *testing.T) {
	t.Parallel()
	traptest.Run(t, adapter)
}

// adapter is how the traps reach this package.
var adapter = traptest.Adapter{
	Open: func(ctx context.Context, dsn string, o traptest.Options) (traptest.Store, error) {
		s, err := Open(ctx, dsn, options(o))
		return s, err
	},
	New: func(t testing.TB, dsn string, o traptest.Options) (traptest.Store, error) {
		opts, pool := options(o), rawPool(t, dsn)
		opts.Migrate = MigrateAuto
		pool.SetMaxOpenConns(o.MaxOpenConns)
		s, err := New(t.Context(), pool, opts)
		return s, err
	},
	CreateTable: func(ctx context.Context, s traptest.Store, schema *driver.Schema) error {
		return sqlstore.CreateTable(ctx, s.(*Store).Store, schema)
	},
	Exec: func(ctx context.Context, s traptest.Store, text string) error {
		_, err := s.(*Store).DB().ExecContext(ctx, text)
		return err
	},
	InHostTx: func(ctx context.Context, s traptest.Store, f func(context.Context, traptest.Host, driver.Tx) error) error {
		return s.(*Store).InHostTx(ctx, func(ctx context.Context, host *sql.Tx, bound driver.Tx) error { return f(ctx, guest{host}, bound) })
	},
	Begin: func(t testing.TB, s traptest.Store) (traptest.Host, driver.Tx, func() error) {
		own := s.(*Store)
		tx, err := own.DB().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		return guest{tx}, own.Join(tx), tx.Rollback
	},
	CloseIdle: func(s traptest.Store) { s.(*Store).DB().SetMaxIdleConns(0) },
	Unsynced:  errUnsynced,
	ServerError: func(err error) bool {
		var refused *ServerError
		return errors.As(err, &refused)
	},
}

func options(o traptest.Options) *Options {
	opts := &Options{Clock: o.Clock, Notify: o.Notify, MaxOpenConns: o.MaxOpenConns, IOTimeout: o.IOTimeout, Later: o.Later}
	if o.NoMigration {
		opts.Migrate = MigrateOff
	}
	return opts
}

// guest is a host's transaction of database/sql.
type guest struct{ tx *sql.Tx }

func (g guest) Exec(ctx context.Context, text string, args ...any) error {
	_, err := g.tx.ExecContext(ctx, text, args...)
	return err
}
