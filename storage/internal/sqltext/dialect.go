// Package sqltext holds the SQL of all verbs: for a table, a dialect and the
// arguments of a verb the text and its parameters. It runs nothing and knows no
// driver, so that whoever speaks to a database, and how, is a matter of the
// adapters. Its values may be used by any number of goroutines.
package sqltext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/storage/driver"
)

// Statement is a text with the values of its parameters, in their order.
type Statement struct {
	Text string
	Args []any
}

// Dialect is what differs between databases. There are two, [PostgreSQL] and
// [SQLite].
type Dialect struct {
	// Begin opens a transaction in one round trip.
	Begin string
	// View opens one that reads what was committed when it began.
	View string

	numbered bool // parameters are $1, $2, not ?
	maxName  int  // bytes of a table's name that are told apart
	// bytewise follows a text whose order counts. Empty where bytes decide anyway.
	bytewise string
	// nulls follows a descending and an ascending order in which NULLs occur.
	nullsLast, nullsFirst string
	ddl                   ddl
	words                 words
}

// words is what dialects say in different words.
type words interface {
	// in says that column, of that kind, is one of the values of one parameter.
	in(column string, kind driver.ColumnType) string
	// scoped says that the scope of a row t and its column, a text, are one of the pairs
	// of one parameter, which pairs makes.
	scoped(column string) string
	pairs(all []driver.ScopedKind) any
	// at reads columns of the rows of a table that are at places.
	at(table, columns string, places []driver.Place) (text string, args []any)
	// under tells the numbers of places under which a table has a row; conditions on it
	// come between the two texts.
	under(table string, places []driver.Place) (head, tail string, args []any)
	// value is a parameter from a canonical value; lists are []string and []int64.
	value(v any) any

	// setUp comes before the first table, and lets one process through at a time.
	setUp(n Names) []string
	// lockHistory lets one process through until the end of its transaction.
	lockHistory(table string) []string
	// hurry has what comes give up a lock that it does not get at once.
	hurry() []string
	// exists tells whether there is a table, named as by Names.live.
	exists() string
	// columns of a table: name, type, not null, generated, collation.
	columns() string
	// indexes of a table: name, unique, definition, key columns joined by commas.
	indexes() string
}

// PostgreSQL is the dialect of PostgreSQL 14 and later.
var PostgreSQL = &Dialect{
	Begin:      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '500ms'; SET LOCAL jit = off",
	View:       "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '30s'; SET LOCAL jit = off",
	numbered:   true,
	maxName:    63,
	bytewise:   ` COLLATE "C"`,
	nullsLast:  " NULLS LAST",
	nullsFirst: " NULLS FIRST",
	ddl:        postgresDDL,
	words:      postgres{},
}

// SQLite is the dialect of SQLite 3.51.3 and later.
var SQLite = &Dialect{
	Begin:   "BEGIN IMMEDIATE",
	View:    "BEGIN",
	maxName: 1000,
	ddl:     sqliteDDL,
	words:   sqlite{},
}

// Value is a canonical value of a column (see [driver.Column.Value]) as a parameter.
func (d *Dialect) Value(v any) any { return d.words.value(v) }

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

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,40}$`)

// Names makes the quoted names of tables and indexes. Schema (PostgreSQL only) and
// Prefix may be empty.
type Names struct {
	Dialect        *Dialect
	Schema, Prefix string
}

// Check refuses what could break out of its quotes or exceed a name's length.
func (n Names) Check() error {
	if n.Schema != "" && !identifier.MatchString(n.Schema) {
		return fmt.Errorf("storage: schema %q does not match %s", n.Schema, identifier)
	}
	if n.Prefix != "" && !identifier.MatchString(n.Prefix) {
		return fmt.Errorf("storage: table prefix %q does not match %s", n.Prefix, identifier)
	}
	return nil
}

// table is the qualified name of a table.
func (n Names) table(name string) string {
	if n.Schema == "" {
		return quote(n.Prefix + name)
	}
	return quote(n.Schema) + "." + quote(n.Prefix+name)
}

// live is the name of a table as the database's catalog takes it.
func (n Names) live(name string) string {
	if n.Dialect == SQLite {
		return n.Prefix + name
	}
	return n.table(name)
}

// index is the name of an index; databases put it beside its table.
func (n Names) index(name string) string { return quote(n.Prefix + name) }

func quote(name string) string { return `"` + name + `"` }

var placeholder = regexp.MustCompile(`\{(index:)?([a-z_][a-z0-9_]*)\}`)

// Expand replaces {table} and {index:name} in the text of a migration. It
// refuses names that PostgreSQL would cut off.
func (n Names) Expand(text string) (string, error) {
	var long []string
	text = placeholder.ReplaceAllStringFunc(text, func(m string) string {
		part := placeholder.FindStringSubmatch(m)
		if len(n.Prefix)+len(part[2]) > n.Dialect.maxName {
			long = append(long, part[2])
		}
		if part[1] != "" {
			return n.index(part[2])
		}
		return n.table(part[2])
	})
	if long != nil {
		return "", fmt.Errorf("storage: table prefix %q is too long for %s", n.Prefix, strings.Join(long, ", "))
	}
	return text, nil
}
