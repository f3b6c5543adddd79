package automation_test

import (
	"context"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func TestTheMigrationsMakeTheTablesOfThisPackage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		sql, ok := store.(interface {
			CheckTables(ctx context.Context, schemas ...*driver.Schema) error
		})
		if !ok {
			return // memory makes its tables from the schemas
		}
		if err := sql.CheckTables(t.Context(), automation.Schemas()...); err != nil {
			t.Error(err)
		}
	})
}
