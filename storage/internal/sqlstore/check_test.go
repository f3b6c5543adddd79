package sqlstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

type ring struct {
	driver.Due
	Bell  string `db:"bell"`
	Times int64  `db:"times,null"`
}

var rings = driver.Define[ring]("ring")

func TestCreatedTablesPassTheCheck(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		s, err := d.store(t, func(c *sqlstore.Config) { c.Prefix = "pre_" })
		if err != nil {
			t.Fatal(err)
		}
		if err := sqlstore.CreateTable(t.Context(), s, &rings.Schema); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckTables(t.Context(), &rings.Schema); err != nil {
			t.Error(err)
		}
		wantError(t, s.CheckTables(t.Context(), driver.Schemas()...), "blob: there is no such table", "store_identity")
	})
}

// fault is what one change of a sound table is called.
type fault struct{ change, problem string }

var faults = []fault{
	{`ALTER TABLE ring DROP COLUMN times`, "there is no column times"},
	{`ALTER TABLE ring RENAME COLUMN bell TO tower`, "column tower is not known here and must not be left out"},
	{`ALTER TABLE ring DROP COLUMN bell; ALTER TABLE ring ADD COLUMN bell BYTES NOT NULL DEFAULT ''`, "column bell has the type"},
	{`ALTER TABLE ring DROP COLUMN times; ALTER TABLE ring ADD COLUMN times INTEGER NOT NULL DEFAULT 0`, "column times is NOT NULL: true"},
	{`DROP INDEX ring_due`, "there is no index on (lane, due_on, id)"},
	{`DROP INDEX ring_due; CREATE INDEX ring_due ON ring (lane, due_on, id)`, "there is no index on (lane, due_on, id)"},
	{`CREATE INDEX a ON ring (bell, status)`, "index a touches status"},
	{`CREATE INDEX a ON ring (bell) WHERE "lease_expires_on" IS NULL`, "index a touches lease_expires_on"},
	{`CREATE INDEX a ON ring (bell, (version + 1))`, "index a touches version"},
	{`CREATE UNIQUE INDEX a ON ring (bell)`, "index a is unique beside (scope, key)"},
}

// postgresFaults are those that SQLite has no words for.
var postgresFaults = []fault{
	{`CREATE INDEX a ON ring (bell) INCLUDE (abandoned)`, "index a touches abandoned"},
	{`ALTER TABLE ring ALTER COLUMN key TYPE text COLLATE "POSIX"`, `column key has the collation "POSIX"`},
}

func TestTheCheckNamesEveryDifference(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		s, err := d.store(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, bytes := faults, "BLOB"
		if d.dialect == sqlstore.PostgreSQL {
			all, bytes = slices.Concat(faults, postgresFaults), "bytea"
		}
		db := d.handle(t)
		for _, f := range all {
			d.exec(t, db, sqlstore.CreateTableSQL(d.dialect, &rings.Schema)...)
			d.exec(t, db, strings.ReplaceAll(f.change, "BYTES", bytes))
			wantError(t, s.CheckTables(t.Context(), &rings.Schema), f.problem)
			d.exec(t, db, "DROP TABLE ring")
		}
	})
}

// A string in a predicate is not a column.
func TestWordsInStringsAreNoColumns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		s, err := d.store(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		db := d.handle(t)
		d.exec(t, db, sqlstore.CreateTableSQL(d.dialect, &rings.Schema)...)
		d.exec(t, db, "CREATE INDEX a ON ring (bell) WHERE bell = 'status'")
		if err := s.CheckTables(t.Context(), &rings.Schema); err != nil {
			t.Error(err)
		}
	})
}
