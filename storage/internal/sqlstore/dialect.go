package sqlstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/storage/driver"
)

// statement is a text with the values of its parameters, in their order.
type statement struct {
	text string
	args []any
}

// Dialect is what differs between databases. There are two, [PostgreSQL] and
// [SQLite].
type Dialect struct {
	begin string // opens a transaction in one round trip
	view  string // opens one that reads what was committed when it began
	// replicated commits something, which waits until the synchronous standbys have it and
	// all that is visible. Empty: there are none.
	replicated string
	// detached: the driver undoes a whole transaction when the context of one of
	// its statements ends, so contexts are looked at between statements only.
	detached bool

	numbered bool // parameters are $1, $2, not ?
	maxName  int  // bytes of a table's name that are told apart
	// bytewise follows a text whose order counts. Empty where bytes decide anyway.
	bytewise string
	// nulls follows a descending and an ascending order in which NULLs occur.
	nullsLast, nullsFirst string
	ddl                   ddl
	syntax
}

// syntax is what the databases write differently.
type syntax interface {
	// table makes the statements of a table.
	table(n naming, s *driver.Schema) table

	// in says that column, of that kind, is one of the values of one parameter.
	in(column string, kind driver.ColumnType) string
	// scoped says that the scope of a row t and its column, a text, are one of the pairs
	// of one parameter, which pairs makes.
	scoped(column string) string
	pairs(all []driver.ScopedKind) any
	// at reads columns of the rows of a table that are at places.
	at(table, columns string, places []driver.ScopedKey) (text string, args []any)
	// under tells the numbers of places under which a table has a row; conditions on it
	// come between the two texts.
	under(table string, places []driver.ScopedKey) (head, tail string, args []any)
	// value is a parameter from a canonical value; lists are []string and []int64.
	value(v any) any

	// setUp comes before the first table, and lets one process through at a time.
	setUp(n naming) []string
	// lockHistory lets one process through until the end of its transaction.
	lockHistory(table string) []string
	// lockTimeout makes the statements that follow give up a lock they do not get at once.
	lockTimeout() []string
	// exists tells whether there is a table, named as by naming.live.
	exists() string
	// columns of a table: name, type, not null, generated, collation.
	columns() string
	// indexes of a table: name, unique, definition, key columns joined by commas.
	indexes() string
}

func (d *Dialect) rebind(text string) string {
	if d.numbered {
		return numbered(text)
	}
	return text
}

// numbered makes $1, $2 of question marks, also of those in literals: no value may
// be in a text, nor an operator with a question mark.
func numbered(text string) string {
	out := make([]byte, 0, len(text)+64)
	for n := 1; ; n++ {
		i := strings.IndexByte(text, '?')
		if i < 0 {
			return string(append(out, text...))
		}
		out = strconv.AppendInt(append(append(out, text[:i]...), '$'), int64(n), 10)
		text = text[i+1:]
	}
}

// table runs the statements of one table.
type table interface {
	// text is what the dialects say alike.
	text() *tableText
	// insert adds rows whose scope and key are free, in their order, and calls
	// done for each of those.
	insert(ctx context.Context, x *tx, rows []driver.Row, done inserted) error
	// change changes rows which still are what the caller saw, in their order, and
	// tells which were.
	change(ctx context.Context, x *tx, change changeKind, lead []any, rows []driver.Row) (hits []bool, err error)
	// claim takes due rows, in any order. What it gives all of them alike, lease
	// and token, it need not tell.
	claim(ctx context.Context, x *tx, c *driver.Claim) ([]driver.Row, error)
	// next is a look at the lane, the due moment and the id of the first row that c would
	// claim in each lane by its Now.
	next(c *driver.Claim) statement
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
