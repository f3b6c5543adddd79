package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/storagetest"
)

// The suite runs on a file, which is what hosts have, and in memory.
func TestSuiteOnAFile(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{NoUntouched: unnoticed, Open: func(t testing.TB, o storagetest.Options) *storagetest.Instance {
		path := filepath.Join(t.TempDir(), "belfry.db")
		in := instance(opened(t, path, options(o)))
		in.Second = func(t testing.TB, environment string) driver.Store {
			again := options(o)
			again.Environment = environment
			return opened(t, path, again)
		}
		return in
	}})
}

func TestSuiteInMemory(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{
		NoSecondHandle: "a database in memory is that of one store",
		NoUntouched:    unnoticed,
		Open: func(t testing.TB, o storagetest.Options) *storagetest.Instance {
			return instance(opened(t, ":memory:", options(o)))
		},
	})
}

const unnoticed = "a row that was written by hand would not be noticed"

func options(o storagetest.Options) *Options {
	return &Options{Clock: o.Clock, Rand: o.Rand, Environment: o.Environment, BlobDir: o.BlobDir}
}

func opened(t testing.TB, path string, o *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
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

func instance(s *Store) *storagetest.Instance {
	return &storagetest.Instance{
		Store: s,
		CreateTable: func(ctx context.Context, schema *driver.Schema) error {
			return sqlstore.CreateTable(ctx, s.Store, schema)
		},
		Begin: func(t testing.TB) *storagetest.Host {
			tx, err := s.DB().BeginTx(context.WithoutCancel(t.Context()), nil)
			if err != nil {
				t.Fatal(err)
			}
			return &storagetest.Host{Tx: s.Join(tx), Commit: tx.Commit, Rollback: tx.Rollback}
		},
		Inspect: func(ctx context.Context, schema *driver.Schema) (*storagetest.LiveTable, error) {
			live, err := sqlstore.Inspect(ctx, s.Store, schema)
			return liveTable(live), err
		},
	}
}

func liveTable(live *sqlstore.LiveTable) *storagetest.LiveTable {
	out := &storagetest.LiveTable{}
	for _, c := range live.Columns {
		out.Columns = append(out.Columns, storagetest.LiveColumn{Name: c.Name, Kinds: c.Kinds, NotNull: c.NotNull, Generated: c.Generated})
	}
	for _, i := range live.Indexes {
		out.Indexes = append(out.Indexes, storagetest.LiveIndex{
			Name: i.Name, Columns: i.Columns, Touches: i.Touches, Unique: i.Unique, Partial: i.Where != "",
		})
	}
	return out
}
