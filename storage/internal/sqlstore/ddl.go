package sqlstore

import (
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage/driver"
)

// ddl is how a dialect defines tables.
type ddl struct {
	kinds  [6]string   // types by driver.ColumnType
	live   [6][]string // names of these types in the catalog, and others that do
	lane   string      // type of the lane
	id     string      // definition of the primary key
	unique string      // follows the unique key
	text   string      // follows the type of a text
	strict string      // follows the columns of every table
	table  string      // follows those of a table that is claimed
}

// createTable is what creates a table with the indexes that it needs for all verbs: for
// tests and as a start for a migration.
func (n naming) createTable(s *driver.Schema) []string {
	d := n.Dialect.ddl
	columns := make([]string, len(s.Columns))
	for i := range s.Columns {
		columns[i] = quote(s.Columns[i].Name) + " " + d.column(&s.Columns[i])
	}
	made := []string{
		"CREATE TABLE " + n.table(s.Name) + " (" + strings.Join(columns, ", ") + `, UNIQUE ("scope", "key")` + d.unique + ") " + d.table,
	}
	if s.Due {
		made = append(made, "CREATE INDEX "+n.index(s.Name+"_due")+" ON "+n.table(s.Name)+
			` ("lane", "due_on", "id") WHERE "due_on" IS NOT NULL`)
	}
	return made
}

func (d ddl) column(c *driver.Column) string {
	text := d.kinds[c.Type]
	switch {
	case c.Name == "id":
		return d.id
	case c.Name == "lane":
		text = d.lane
	case c.Type == driver.Text:
		text += d.text
	}
	if c.Null {
		return text
	}
	return text + " NOT NULL"
}

// holds returns the kinds whose columns may have a type.
func (d *Dialect) holds(kind string) (kinds []driver.ColumnType) {
	for k, types := range d.ddl.live {
		if slices.Contains(types, kind) {
			kinds = append(kinds, driver.ColumnType(k))
		}
	}
	return kinds
}

// keyCollation is what the column key must have in the catalog, so that its index is
// of use for its order; empty: anything.
func (d *Dialect) keyCollation() string {
	if d.bytewise == "" {
		return ""
	}
	return "C"
}
