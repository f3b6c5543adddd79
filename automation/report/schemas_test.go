package report_test

import (
	"context"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func TestTheTableIsWhatTheMigrationsMake(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		sql, ok := store.(interface {
			CheckTables(ctx context.Context, schemas ...*driver.Schema) error
		})
		if !ok {
			return // memory makes its tables of the schemas
		}
		if err := sql.CheckTables(t.Context(), report.Schemas()...); err != nil {
			t.Error(err)
		}
	})
}
