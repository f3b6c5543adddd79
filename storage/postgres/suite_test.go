package postgres

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/storagetest"
)

// way is how a host opens its store.
type way struct {
	open   func(ctx context.Context, dsn string, opts *Options) (*Store, error)
	pooled bool    // behind a PgBouncer in transaction mode
	opts   Options // beside those of the suite
}

// ways are those that a run of this level takes: once through the driver, and at level nightly in all ways.
func ways(t testing.TB) map[string]way {
	oneStep := map[string]string{"binary_parameters": "yes"}
	serializable := map[string]string{"default_transaction_isolation": "serializable"}
	elsewhere := Options{Schema: "some_schema", TablePrefix: "some_", Migrate: MigrateAuto}
	taken := map[string]way{"Open": {open: Open}}
	if testlevel.Runs(t, testlevel.Nightly) {
		maps.Copy(taken, map[string]way{
			"Open, through a pooler":           {open: Open, pooled: true},
			"New, with a schema and a prefix":  {open: onHostPool(nil), opts: elsewhere},
			"Open, with a schema and a prefix": {open: Open, opts: elsewhere},
			"New":                              {open: onHostPool(nil), opts: Options{Migrate: MigrateAuto}},
			"New, in one step":                 {open: onHostPool(oneStep), opts: Options{Migrate: MigrateAuto}},
			"New, through a pooler":            {open: onHostPool(oneStep), pooled: true, opts: Options{Migrate: MigrateAuto}},
			"New, serializable by default":     {open: onHostPool(serializable), opts: Options{Migrate: MigrateAuto}},
		})
	}
	return taken
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, w := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, w.harness())
		})
	}
}

func BenchmarkVerbs(b *testing.B) { storagetest.Bench(b, way{open: Open}.harness()) }

// dsn is a database with the tables of a store, and no rows.
func (w way) dsn(t testing.TB) string {
	t.Helper()
	dsn := pgtest.Prepared(t, "postgres "+w.opts.Schema+"."+w.opts.TablePrefix, func(ctx context.Context, dsn string) error {
		s, err := w.open(ctx, dsn, &w.opts)
		if err != nil {
			return err
		}
		return errors.Join(s.Close(), s.DB().Close())
	})
	if w.pooled {
		dsn = pgtest.Bouncer(t, dsn, nil)
	}
	return dsn
}

// onHostPool makes stores on pools of plain lib/pq.
func onHostPool(settings map[string]string) func(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	return func(ctx context.Context, dsn string, opts *Options) (*Store, error) {
		u, err := url.Parse(dsn)
		if err != nil {
			return nil, err
		}
		q := u.Query()
		for name, value := range settings {
			q.Set(name, value)
		}
		u.RawQuery = q.Encode()
		db, err := sql.Open("postgres", u.String())
		if err != nil {
			return nil, err
		}
		s, err := New(ctx, db, opts)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return s, nil
	}
}

func (w way) harness() storagetest.Harness {
	return storagetest.Harness{Open: func(t testing.TB, o storagetest.Options) *storagetest.Instance {
		t.Helper()
		at := w.dsn(t)
		s := w.store(t, at, o)
		return &storagetest.Instance{
			Store: s,
			CreateTable: func(ctx context.Context, schema *driver.Schema) error {
				return sqlstore.CreateTable(ctx, s.Store, schema)
			},
			Second: func(t testing.TB, environment string) driver.Store {
				o.Environment = environment
				return w.store(t, at, o)
			},
			Begin: func(t testing.TB) *storagetest.Host { return host(t, s) },
			Inspect: func(ctx context.Context, schema *driver.Schema) (*storagetest.LiveTable, error) {
				return inspect(ctx, s, schema)
			},
		}
	}}
}

// store opens a store with what the suite asks for, which ends with t.
func (w way) store(t testing.TB, dsn string, o storagetest.Options) *Store {
	t.Helper()
	opts := w.opts
	opts.Clock, opts.Rand, opts.Environment, opts.BlobDir = o.Clock, o.Rand, o.Environment, o.BlobDir
	s, err := w.open(t.Context(), dsn, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), s.DB().Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func host(t testing.TB, s *Store) *storagetest.Host {
	t.Helper()
	tx, err := s.DB().BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return &storagetest.Host{Tx: s.Join(tx), Commit: tx.Commit, Rollback: tx.Rollback}
}

func inspect(ctx context.Context, s *Store, schema *driver.Schema) (*storagetest.LiveTable, error) {
	live, err := sqlstore.Inspect(ctx, s.Store, schema)
	if err != nil {
		return nil, err
	}
	out := &storagetest.LiveTable{}
	for _, c := range live.Columns {
		out.Columns = append(out.Columns, storagetest.LiveColumn{Name: c.Name, Kinds: c.Kinds, NotNull: c.NotNull, Generated: c.Generated})
	}
	for _, i := range live.Indexes {
		touches := slices.DeleteFunc(i.Touches, func(name string) bool { return slices.Contains(i.Columns, name) })
		out.Indexes = append(out.Indexes, storagetest.LiveIndex{
			Name: i.Name, Columns: i.Columns, Touches: touches, Unique: i.Unique, Partial: i.Where != "",
		})
	}
	return out, nil
}
