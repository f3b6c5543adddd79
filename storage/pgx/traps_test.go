package pgx

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

func TestTraps(t *testing.T) {
	t.Parallel()
	traptest.Run(t, adapter)
}

// adapter is how the traps that other drivers had reach this package.
var adapter = traptest.Adapter{
	Open: func(ctx context.Context, dsn string, o traptest.Options) (traptest.Store, error) {
		s, err := Open(ctx, dsn, options(o))
		return s, err
	},
	New: func(t testing.TB, dsn string, o traptest.Options) (traptest.Store, error) {
		opts := options(o)
		opts.Migrate = MigrateAuto
		s, err := New(t.Context(), hostPool(t, dsn, o.MaxOpenConns), opts)
		return s, err
	},
	CreateTable: func(ctx context.Context, s traptest.Store, schema *driver.Schema) error {
		return sqlstore.CreateTable(ctx, s.(*Store).Store, schema)
	},
	Exec: func(ctx context.Context, s traptest.Store, text string) error {
		_, err := s.(*Store).Pool().Exec(ctx, text)
		return err
	},
	InHostTx: func(ctx context.Context, s traptest.Store, f func(context.Context, traptest.Host, driver.Tx) error) error {
		return s.(*Store).InHostTx(ctx, func(ctx context.Context, host pgx.Tx, bound driver.Tx) error { return f(ctx, guest{host}, bound) })
	},
	Begin: func(t testing.TB, s traptest.Store) (traptest.Host, driver.Tx, func() error) {
		own := s.(*Store)
		tx, err := own.Pool().BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		return guest{tx}, own.Join(tx), func() error { return tx.Rollback(t.Context()) }
	},
	CloseIdle: func(s traptest.Store) { s.(*Store).Pool().Reset() },
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

// hostPool is a pool as a host has it.
func hostPool(t testing.TB, dsn string, conns int) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if conns > 0 {
		cfg.MaxConns = int32(conns)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// guest is a host's transaction of pgx.
type guest struct{ tx pgx.Tx }

func (g guest) Exec(ctx context.Context, text string, args ...any) error {
	_, err := g.tx.Exec(ctx, text, args...)
	return err
}
