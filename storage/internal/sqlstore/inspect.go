package sqlstore

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// LiveTable is a table as the database describes it; without columns there is
// no such table.
type LiveTable struct {
	Columns []LiveColumn
	Indexes []LiveIndex
}

// LiveColumn is a column of a LiveTable.
type LiveColumn struct {
	Name, Type, Collation string
	Kinds                 []storage.Kind // those that a column of this type can hold
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
func Inspect(ctx context.Context, s *Store, schema *storage.Schema) (*LiveTable, error) {
	t, d, name := &LiveTable{}, s.cfg.Dialect, s.names.live(schema.Name)
	err := s.live(ctx, d.catalog.columns(), name, func(r *sql.Rows) error {
		var c LiveColumn
		err := r.Scan(&c.Name, &c.Type, &c.NotNull, &c.Generated, &c.Collation)
		c.Kinds = d.ddl.holds(c.Type)
		t.Columns = append(t.Columns, c)
		return err
	})
	if err != nil || len(t.Columns) == 0 {
		return t, err
	}
	err = s.live(ctx, d.catalog.indexes(), name, func(r *sql.Rows) error {
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

func (s *Store) live(ctx context.Context, text, name string, row func(*sql.Rows) error) error {
	return s.read(ctx, "look at "+name, s.cfg.Dialect.rebind(text), []any{name}, func(r *sql.Rows) error {
		for r.Next() {
			if err := row(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// holds returns the kinds whose columns may have a type.
func (d ddl) holds(kind string) (kinds []storage.Kind) {
	for k, types := range d.live {
		if slices.Contains(types, kind) {
			kinds = append(kinds, storage.Kind(k))
		}
	}
	return kinds
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
