package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/driver"
)

// Dialect is what differs between databases. There are two, [PostgreSQL] and
// [SQLite].
//
//spec:t-049
type Dialect struct {
	bindType int // of sqlx
	maxName  int // bytes of a table's name that are told apart
	// begin opens a transaction in one round trip.
	begin string
	// bytewise follows a text whose order counts. Empty where bytes decide anyway.
	bytewise string
	// nulls follows a descending and an ascending order in which NULLs occur.
	nullsLast, nullsFirst string
	// detached: the driver undoes a whole transaction when the context of one of
	// its statements ends, so contexts are looked at between statements only.
	detached bool
	ddl      ddl
	verbs    verbs
	catalog  catalog
}

// verbs is how a dialect reads and writes rows.
type verbs interface {
	// statements fills in the texts of a table.
	statements(t *table)
	// insert adds rows whose scope and key are free, in their order, and calls
	// done for each of those.
	insert(ctx context.Context, x *tx, t *table, rows []driver.Row, done inserted) error
	// swap runs a statement that changes rows which still are what the caller
	// saw, in their order, and tells which were.
	swap(ctx context.Context, x *tx, s *swap, lead []any, rows []driver.Row) (hits []bool, err error)
	// claim takes due rows, in any order. What it gives all of them alike, lease
	// and token, it need not tell.
	claim(ctx context.Context, x *tx, t *table, c *driver.Claim) ([]driver.Row, error)
	// next is the text and the arguments of a look at the next due moment.
	next(t *table, c *driver.Claim) (string, []any)
	// in says that column, of that kind, is one of the values of one parameter.
	in(column string, kind driver.Kind) string
	// value is a parameter from a canonical value; lists are []string and []int64.
	value(v any) any
}

// catalog is how a dialect tells what tables it has, and guards their making.
type catalog interface {
	// setUp comes before the first table, and lets one process through at a time.
	setUp(n names) []string
	// lockHistory lets one process through until the end of its transaction.
	lockHistory(table string) []string
	// exists tells whether there is a table, named as by names.live.
	exists() string
	// columns of a table: name, type, not null, generated, collation.
	columns() string
	// indexes of a table: name, unique, definition, key columns joined by commas.
	indexes() string
}

// inserted is told the id that a row of that scope and key got.
type inserted func(id int64, scope driver.Scope, key string) error

// PostgreSQL is the dialect of PostgreSQL 13 and later.
var PostgreSQL = &Dialect{
	bindType:   sqlx.DOLLAR,
	maxName:    63,
	begin:      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '500ms'",
	bytewise:   ` COLLATE "C"`,
	nullsLast:  " NULLS LAST",
	nullsFirst: " NULLS FIRST",
	ddl:        postgresDDL,
	verbs:      postgres{},
	catalog:    postgres{},
}

// SQLite is the dialect of SQLite 3.51.3 and later.
var SQLite = &Dialect{
	bindType: sqlx.QUESTION,
	maxName:  1000,
	begin:    "BEGIN IMMEDIATE",
	detached: true,
	ddl:      sqliteDDL,
	verbs:    sqlite{},
	catalog:  sqlite{},
}

func (d *Dialect) rebind(text string) string { return sqlx.Rebind(d.bindType, text) }

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,40}$`)

// names makes the quoted names of tables and indexes.
type names struct {
	dialect        *Dialect
	schema, prefix string
}

// check refuses what could break out of its quotes or exceed a name's length.
func (n names) check() error {
	if n.schema != "" && !identifier.MatchString(n.schema) {
		return fmt.Errorf("storage: schema %q does not match %s", n.schema, identifier)
	}
	if n.prefix != "" && !identifier.MatchString(n.prefix) {
		return fmt.Errorf("storage: table prefix %q does not match %s", n.prefix, identifier)
	}
	return nil
}

// table is the qualified name of a table.
func (n names) table(name string) string {
	if n.schema == "" {
		return quote(n.prefix + name)
	}
	return quote(n.schema) + "." + quote(n.prefix+name)
}

// live is the name of a table as the database's catalog takes it.
func (n names) live(name string) string {
	if n.dialect == SQLite {
		return n.prefix + name
	}
	return n.table(name)
}

// index is the name of an index; databases put it beside its table.
func (n names) index(name string) string { return quote(n.prefix + name) }

func quote(name string) string { return `"` + name + `"` }

var placeholder = regexp.MustCompile(`\{(index:)?([a-z_][a-z0-9_]*)\}`)

// expand replaces {table} and {index:name} in the text of a migration. It
// refuses names that PostgreSQL would cut off.
func (n names) expand(text string) (string, error) {
	var long []string
	text = placeholder.ReplaceAllStringFunc(text, func(m string) string {
		part := placeholder.FindStringSubmatch(m)
		if len(n.prefix)+len(part[2]) > n.dialect.maxName {
			long = append(long, part[2])
		}
		if part[1] != "" {
			return n.index(part[2])
		}
		return n.table(part[2])
	})
	if long != nil {
		return "", fmt.Errorf("storage: table prefix %q is too long for %s", n.prefix, strings.Join(long, ", "))
	}
	return text, nil
}
