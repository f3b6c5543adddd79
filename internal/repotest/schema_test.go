package repotest

import (
	"context"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/tables"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/tenant"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// schemas are those of all tables.
func schemas() []*driver.Schema {
	return append(tables.All(), tenant.Schemas()...)
}

// Every table of every domain is in the migrations of every dialect, with its
// columns, their types, and the indexes that the verbs need and no others that a
// claim would have to write.
func TestTheMigrationsMakeTheTablesOfAllDomains(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, clock.Clock) storage.Store{
		"sqlite": storetest.SQLite, "postgres": storetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t, clock.NewMock()).(interface {
				CheckTables(context.Context, ...*driver.Schema) error
			})
			if err := store.CheckTables(t.Context(), schemas()...); err != nil {
				t.Error(err)
			}
		})
	}
}
