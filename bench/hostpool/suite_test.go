package hostpool

import (
	"context"
	"database/sql"
	"maps"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/storagetest"
)

// mode is the setting that says how pgx sends statements.
const mode = "default_query_exec_mode"

// way is how a host has its pool.
type way struct {
	mode   string // empty: as pgx has it
	pooled bool   // behind a PgBouncer in transaction mode
	opts   postgres.Options
}

// ways are those that every run takes, and the others.
func ways(t testing.TB) map[string]way {
	quick := map[string]way{
		"as it comes":            {},
		"exec, through a pooler": {mode: "exec", pooled: true},
	}
	if !testlevel.Has(t, testlevel.Nightly) {
		return quick
	}
	maps.Copy(quick, map[string]way{
		"with a schema and a prefix":        {opts: postgres.Options{Schema: "some_schema", TablePrefix: "some_"}},
		"exec":                              {mode: "exec"},
		"cache_describe":                    {mode: "cache_describe"},
		"describe_exec":                     {mode: "describe_exec"},
		"simple_protocol":                   {mode: "simple_protocol"},
		"cache_describe, through a pooler":  {mode: "cache_describe", pooled: true},
		"simple_protocol, through a pooler": {mode: "simple_protocol", pooled: true},
	})
	return quick
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

// BenchmarkHostPool is comparable with BenchmarkVerbs of the adapter, on lib/pq.
func BenchmarkHostPool(b *testing.B) { storagetest.Bench(b, way{}.harness()) }

func (w way) harness() storagetest.Harness {
	return storagetest.Harness{
		Open: func(t testing.TB, o storagetest.Options) *storagetest.Instance {
			t.Helper()
			dsn := w.dsn(t)
			s := w.store(t, dsn, o)
			return &storagetest.Instance{
				Store: s,
				CreateTable: func(ctx context.Context, schema *driver.Schema) error {
					return createTable(ctx, s, w.opts, schema)
				},
				Second: func(t testing.TB, environment string) storage.Store {
					o.Environment = environment
					return w.store(t, dsn, o)
				},
				Begin: func(t testing.TB) *storagetest.Host { return host(t, s) },
			}
		},
		NoInspect: "CheckTables looks at every table of the suite instead",
	}
}

// dsn leads to an empty database.
func (w way) dsn(t testing.TB) string {
	t.Helper()
	dsn := pgtest.DSN(t)
	if w.pooled {
		dsn = pgtest.Bouncer(t, dsn, nil)
	}
	if w.mode != "" {
		dsn = pgtest.With(t, dsn, mode, w.mode)
	}
	return dsn
}

// store opens a store with what the suite asks for, on a pool that ends with t.
func (w way) store(t testing.TB, dsn string, o storagetest.Options) *postgres.Store {
	t.Helper()
	db := pool(t, dsn)
	opts := w.opts
	opts.Migrate = postgres.MigrateAuto
	opts.Clock, opts.Rand, opts.Environment, opts.BlobDir = o.Clock, o.Rand, o.Environment, o.BlobDir
	s, err := postgres.New(t.Context(), db, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pool is a host's, and ends with t.
func pool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// host begins a transaction of the host and joins it.
func host(t testing.TB, s *postgres.Store) *storagetest.Host {
	t.Helper()
	tx, err := s.DB().BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return &storagetest.Host{Tx: s.Join(tx), Commit: tx.Commit, Rollback: tx.Rollback}
}
