package repotest

import (
	"context"
	"slices"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// schemas are those of all tables.
func schemas() []*driver.Schema {
	return slices.Concat(driver.Schemas(), notify.Schemas(), gate.Schemas(), templates.Schemas(), automation.Schemas(), settings.Schemas(), report.Schemas(), outbox.Schemas(), survey.Schemas(), sweep.Schemas(), unserved.Schemas(), once.Schemas())
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
