package pgx

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

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
	elsewhere := Options{Schema: "some_schema", TablePrefix: "some_", Migrate: MigrateAuto}
	taken := map[string]way{"Open": {open: Open}}
	if testlevel.Runs(t, testlevel.Nightly) {
		maps.Copy(taken, map[string]way{
			"Open, through a pooler":          {open: Open, pooled: true},
			"New, with a schema and a prefix": {open: onHostPool(""), opts: elsewhere},
		})
		taken["Open, with a schema and a prefix"] = way{open: Open, opts: elsewhere}
		for _, mode := range []string{"cache_describe", "describe_exec", "exec", "simple_protocol"} {
			taken["New, "+mode] = way{open: onHostPool(mode), opts: Options{Migrate: MigrateAuto}}
		}
		for _, mode := range []string{"cache_describe", "exec", "simple_protocol"} {
			taken["New, through a pooler, "+mode] = way{open: onHostPool(mode), pooled: true, opts: Options{Migrate: MigrateAuto}}
		}
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
	dsn := pgtest.Prepared(t, "pgx "+w.opts.Schema+"."+w.opts.TablePrefix, func(ctx context.Context, dsn string) error {
		s, err := w.open(ctx, dsn, &w.opts)
		if err != nil {
			return err
		}
		defer s.Pool().Close()
		return s.Close()
	})
	if w.pooled {
		dsn = pgtest.Bouncer(t, dsn, nil)
	}
	return dsn
}

// onHostPool makes stores on pools of a host that speak in a mode; empty is pgx's own.
func onHostPool(mode string) func(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	return func(ctx context.Context, dsn string, opts *Options) (*Store, error) {
		if mode != "" {
			dsn += "&default_query_exec_mode=" + mode
		}
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			return nil, err
		}
		s, err := New(ctx, pool, opts)
		if err != nil {
			pool.Close()
		}
		return s, err
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
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s.Pool().Close()
	})
	return s
}

func host(t testing.TB, s *Store) *storagetest.Host {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	tx, err := s.Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	end := func() error {
		if err := tx.Rollback(ctx); !errors.Is(err, errClosed) {
			return err
		}
		return nil
	}
	t.Cleanup(func() { _ = end() })
	return &storagetest.Host{Tx: s.Join(tx), Commit: func() error { return tx.Commit(ctx) }, Rollback: end}
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
