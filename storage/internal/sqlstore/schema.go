package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage/driver"
)

// CreateTableSQL is what creates a table with the indexes that it needs for all verbs:
// for tests and as a start for a migration.
func CreateTableSQL(d *Dialect, s *driver.Schema) []string {
	return naming{Dialect: d}.createTable(s)
}

// CreateTable creates a table of a schema that no migration knows, for tests.
func CreateTable(ctx context.Context, s *Store, schema *driver.Schema) error {
	return s.transact(ctx, func(db *session) error {
		return s.execAll(ctx, db, "create "+schema.Name, s.names.createTable(schema))
	})
}

// LiveTable is a table as the database describes it; without columns there is
// no such table.
type LiveTable struct {
	Columns []LiveColumn
	Indexes []LiveIndex
}

// LiveColumn is a column of a LiveTable.
type LiveColumn struct {
	Name, Type, Collation string
	Kinds                 []driver.ColumnType // those that a column of this type can hold
	NotNull               bool
	Generated             bool // the database gives a value where an INSERT gives none
}

// LiveIndex is an index of a LiveTable, that of the primary key included.
type LiveIndex struct {
	Name    string
	Columns []string // the indexed ones, in order
	Touches []string // others: included ones, those in expressions and in the predicate
	Unique  bool
	Where   string // predicate without quotes, brackets and spaces; empty: all rows
}

// Inspect describes the table of a schema.
func Inspect(ctx context.Context, s *Store, schema *driver.Schema) (*LiveTable, error) {
	t := &LiveTable{}
	err := s.live(ctx, schema, s.names.columnsOf(schema.Name), func(r Rows) error {
		var c LiveColumn
		err := r.Scan(&c.Name, &c.Type, &c.NotNull, &c.Generated, &c.Collation)
		c.Kinds = s.cfg.Dialect.holds(c.Type)
		t.Columns = append(t.Columns, c)
		return err
	})
	if err != nil || len(t.Columns) == 0 {
		return t, err
	}
	err = s.live(ctx, schema, s.names.indexesOf(schema.Name), func(r Rows) error {
		var i LiveIndex
		var definition, columns string
		err := r.Scan(&i.Name, &i.Unique, &definition, &columns)
		i.Columns = strings.Split(columns, ",")
		i.Touches = t.touched(definition, i.Columns)
		i.Where = predicate(definition)
		t.Indexes = append(t.Indexes, i)
		return err
	})
	return t, err
}

func (s *Store) live(ctx context.Context, schema *driver.Schema, q statement, row func(Rows) error) error {
	return s.read(ctx, "look at "+schema.Name, q, func(r Rows) error {
		for r.Next() {
			if err := row(r); err != nil {
				return err
			}
		}
		return nil
	})
}

var (
	literal = regexp.MustCompile(`'[^']*'`)
	word    = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// touched returns the columns that a definition names beside those it indexes.
func (t *LiveTable) touched(definition string, indexed []string) (names []string) {
	_, columns, _ := strings.Cut(literal.ReplaceAllString(definition, ""), "(")
	words := word.FindAllString(columns, -1)
	for _, c := range t.Columns {
		if slices.Contains(words, c.Name) && !slices.Contains(indexed, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

func predicate(definition string) string {
	_, where, _ := strings.Cut(strings.ToLower(definition), " where ")
	return strings.NewReplacer(`"`, "", "(", "", ")", "", " ", "", "\n", "", "\t", "").Replace(where)
}

// CheckTables compares the tables of the database with the schemas: every column
// with its type and nullability, the unique (scope, key), the due index of rows that
// are due at times, and that
// no index touches a column that claims write, in its key, INCLUDE, expressions
// or predicate: with one, claims stop being cheap. The error lists all
// differences. A host that runs migrations with its own tool can call it after
// opening.
func (s *Store) CheckTables(ctx context.Context, schemas ...*driver.Schema) error {
	var problems []string
	for _, schema := range schemas {
		live, err := Inspect(ctx, s, schema)
		if err != nil {
			return err
		}
		if len(live.Columns) == 0 {
			problems = append(problems, schema.Name+": there is no such table")
			continue
		}
		for _, p := range slices.Concat(checkColumns(schema, live), checkIndexes(schema, live)) {
			problems = append(problems, schema.Name+": "+p)
		}
		if p := s.cfg.Dialect.checkOrder(live); p != "" {
			problems = append(problems, schema.Name+": "+p)
		}
	}
	if problems != nil {
		return fmt.Errorf("%w: %s", driver.ErrSchema, strings.Join(problems, "; "))
	}
	return nil
}

func checkColumns(schema *driver.Schema, live *LiveTable) (problems []string) {
	known := map[string]bool{}
	for i := range schema.Columns {
		c := &schema.Columns[i]
		known[c.Name] = true
		at := slices.IndexFunc(live.Columns, func(l LiveColumn) bool { return l.Name == c.Name })
		if at < 0 {
			problems = append(problems, "there is no column "+c.Name)
			continue
		}
		l := live.Columns[at]
		if !slices.Contains(l.Kinds, c.Type) {
			problems = append(problems, "column "+c.Name+" has the type "+l.Type)
		}
		if l.NotNull == c.Null {
			problems = append(problems, fmt.Sprintf("column %s is NOT NULL: %t, but can be NULL here: %t", c.Name, l.NotNull, c.Null))
		}
	}
	for _, l := range live.Columns {
		if !known[l.Name] && l.NotNull && !l.Generated {
			problems = append(problems, "column "+l.Name+" is not known here and must not be left out")
		}
	}
	return problems
}

// checkOrder refuses keys that are not ordered by their bytes: their index would
// be of no use for that order.
func (d *Dialect) checkOrder(live *LiveTable) string {
	for _, l := range live.Columns {
		if want := d.keyCollation(); l.Name == "key" && want != "" && l.Collation != want {
			return fmt.Sprintf(`column key has the collation %q instead of %q`, l.Collation, want)
		}
	}
	return ""
}

// claimed are the columns that Claim and Extend write.
var claimed = []string{"status", "version", "lease_expires_on", "claim_token", "abandoned"}

func checkIndexes(schema *driver.Schema, live *LiveTable) (problems []string) {
	var unique, due bool
	for _, i := range live.Indexes {
		columns := strings.Join(i.Columns, ",")
		unique = unique || i.Unique && columns == "scope,key" && i.Where == ""
		due = due || columns == "lane,due_on,id" && i.Where == "due_onisnotnull"
		for _, c := range claimed {
			if slices.Contains(i.Columns, c) || slices.Contains(i.Touches, c) {
				problems = append(problems, "index "+i.Name+" touches "+c+", which claims write")
			}
		}
		if i.Unique && columns != "scope,key" && columns != "id" {
			problems = append(problems, "index "+i.Name+" is unique beside (scope, key): Insert could fail on it")
		}
	}
	if !unique {
		problems = append(problems, "there is no unique index on (scope, key)")
	}
	if schema.Due && !due {
		problems = append(problems, "there is no index on (lane, due_on, id) WHERE due_on IS NOT NULL")
	}
	return problems
}
