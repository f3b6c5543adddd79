package sqlstore

import (
	"context"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// Dialect is how the statements of a database are run. There are two,
// [PostgreSQL] and [SQLite].
type Dialect struct {
	*sqltext.Dialect
	// detached: the driver undoes a whole transaction when the context of one of
	// its statements ends, so contexts are looked at between statements only.
	detached bool
	table    func(n sqltext.Names, s *driver.Schema) table
}

// The dialects.
var (
	// PostgreSQL is the dialect of PostgreSQL 14 and later.
	PostgreSQL = &Dialect{Dialect: sqltext.PostgreSQL, table: newPostgres}
	// SQLite is the dialect of SQLite 3.51.3 and later.
	SQLite = &Dialect{Dialect: sqltext.SQLite, table: newSQLite, detached: true}
)

// table runs the statements of one table.
type table interface {
	// text is what the dialects say alike.
	text() *sqltext.Table
	// insert adds rows whose scope and key are free, in their order, and calls
	// done for each of those.
	insert(ctx context.Context, x *tx, rows []driver.Row, done inserted) error
	// change changes rows which still are what the caller saw, in their order, and
	// tells which were.
	change(ctx context.Context, x *tx, change sqltext.Change, lead []any, rows []driver.Row) (hits []bool, err error)
	// claim takes due rows, in any order. What it gives all of them alike, lease
	// and token, it need not tell.
	claim(ctx context.Context, x *tx, c *driver.Claim) ([]driver.Row, error)
	// next is a look at the first due rows.
	next(c *driver.Claim) sqltext.Statement
}

// inserted is told the id that a row of that scope and key got.
type inserted func(id int64, scope driver.Scope, key string) error

// table returns the statements of a schema, which are made once.
func (s *Store) table(schema *driver.Schema) table {
	if t, ok := s.tables.Load(schema); ok {
		return t.(table)
	}
	t, _ := s.tables.LoadOrStore(schema, s.cfg.Dialect.table(s.names, schema))
	return t.(table)
}
