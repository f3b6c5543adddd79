package pgx

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/belfry-go/belfry/internal/chaostest"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/postgres"
)

// Processes are killed, and servers restarted, as they are on the other drivers.
func TestKilledProcessesLoseNothingAndDoubleNothing(t *testing.T) {
	t.Parallel()
	for name, story := range chaostest.Stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chaostest.Each(t, testlevel.Nightly, story, chaosDrivers...)
		})
	}
}

// chaosDrivers are this package, and pgx under database/sql.
var chaosDrivers = []chaostest.Driver{
	{
		Name: "pgx", Again: true, DSN: pgtest.DSN,
		Open: func(ctx context.Context, dsn string, clk clock.Clock) (*chaostest.Host, error) {
			s, err := Open(ctx, dsn, &Options{Clock: clk})
			if err != nil {
				return nil, err
			}
			return &chaostest.Host{Store: s, DB: hostDB{s.Pool()}, Close: s.Close}, nil
		},
	},
	{
		Name: "database/sql", Again: true, DSN: pgtest.DSN,
		Open: func(ctx context.Context, dsn string, clk clock.Clock) (*chaostest.Host, error) {
			db, err := sql.Open("pgx", dsn)
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(10)
			s, err := postgres.New(ctx, db, &postgres.Options{Clock: clk, Migrate: postgres.MigrateAuto})
			if err != nil {
				return nil, errors.Join(err, db.Close())
			}
			h := chaostest.SQL(s)
			h.Close = func() error { return errors.Join(s.Close(), db.Close()) }
			return h, nil
		},
	},
}

// hostDB is the host's pool.
type hostDB struct{ db *pgxpool.Pool }

func (h hostDB) Exec(ctx context.Context, text string, args ...any) error {
	_, err := h.db.Exec(ctx, text, args...)
	return err
}

func (h hostDB) Rows(ctx context.Context, text string, args ...any) ([][]any, error) {
	rows, err := h.db.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
}
