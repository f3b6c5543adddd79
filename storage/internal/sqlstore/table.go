package sqlstore

import (
	"slices"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage"
)

// table is what is known of one schema: its statements are made once.
type table struct {
	schema  *storage.Schema
	dialect *Dialect
	name    string // qualified and quoted
	all     []*storage.Column
	columns string // all of them, quoted
	// PostgreSQL: claimed are the columns that a claim has to read back; unknown
	// lists them.
	claimed []*storage.Column
	unknown string
	hold    string // SQLite: claims rows by id
	// insertable are all columns but id and version; mutable all that are not
	// fixed but version.
	insertable, mutable []*storage.Column
	insertion           frame    // PostgreSQL: leaves out rows whose keys are taken
	optimistic          frame    // PostgreSQL: fails if one is
	optimism            optimism // PostgreSQL: which of them
	insert              []string // SQLite: one of each of chunks
	update, extend      swap
	remove              swap
	shapes              sync.Map // shape to string
}

// swap is a statement that changes rows by id, if a second column still is what
// the caller saw. Its parameters are lead ones, the same for all rows, then each
// row's columns.
type swap struct {
	frame        // PostgreSQL: for all rows; SQLite: its columns
	text  string // SQLite: for one row
	once  bool   // a row that is given twice is missed the second time
}

// table returns the statements of a schema.
func (s *Store) table(schema *storage.Schema) *table {
	if t, ok := s.tables.Load(schema); ok {
		return t.(*table)
	}
	t, _ := s.tables.LoadOrStore(schema, newTable(s.cfg.Dialect, s.names.table(schema.Name), schema))
	return t.(*table)
}

func newTable(d *Dialect, name string, schema *storage.Schema) *table {
	t := &table{schema: schema, dialect: d, name: name}
	for i := range schema.Columns {
		c := &schema.Columns[i]
		t.all = append(t.all, c)
		if c.Name != "lease_expires_on" && c.Name != "claim_token" {
			t.claimed = append(t.claimed, c)
		}
		if c.Name != "id" && c.Name != "version" {
			t.insertable = append(t.insertable, c)
		}
		if !c.Fixed && c.Name != "version" {
			t.mutable = append(t.mutable, c)
		}
	}
	t.columns, t.unknown = list(t.all, "", ""), list(t.claimed, "", "")
	t.update.once, t.remove.once = true, true
	d.verbs.statements(t)
	return t
}

// read are the columns of a query, and their list.
func (t *table) read(named []string) ([]*storage.Column, string) {
	if len(named) == 0 {
		return t.all, t.columns
	}
	var columns []*storage.Column
	for _, name := range append([]string{"id", "scope", "key"}, named...) {
		if c := t.schema.Column(name); !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns, list(columns, "", "")
}

// list joins the quoted names of columns, each between two texts.
func list(columns []*storage.Column, before, after string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = before + quote(c.Name) + after
	}
	return strings.Join(parts, ", ")
}

// shape is what the text of a claim depends on besides its table.
type shape struct {
	peek  bool // the next due moment only
	lanes int  // of a peek on SQLite

	types, except, exceptTypes bool
	kinds                      string // the column of Claim.ExceptKinds
}

func shapeOf(c *storage.Claim) shape {
	return shape{types: c.Types != nil, except: len(c.Except) > 0, exceptTypes: len(c.ExceptTypes) > 0, kinds: c.ExceptKinds.Column}
}

// shaped returns the text of a shape, which make writes with ? for parameters.
func (t *table) shaped(s shape, make func(*table, shape) string) string {
	if text, ok := t.shapes.Load(s); ok {
		return text.(string)
	}
	text, _ := t.shapes.LoadOrStore(s, sqlx.Rebind(t.dialect.bindType, make(t, s)))
	return text.(string)
}
