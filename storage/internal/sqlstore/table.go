package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/driver"
)

// table is what is known of one schema: its statements are made once.
type table struct {
	schema  *driver.Schema
	dialect *Dialect
	name    string // qualified and quoted
	all     []*driver.Column
	columns string // all of them, quoted
	// PostgreSQL: claimed are the columns that a claim has to read back; unknown
	// lists them.
	claimed []*driver.Column
	unknown string
	hold    string // SQLite: claims rows by id
	// insertable are all columns but id and version; mutable all that are not
	// fixed but version.
	insertable, mutable []*driver.Column
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
func (s *Store) table(schema *driver.Schema) *table {
	if t, ok := s.tables.Load(schema); ok {
		return t.(*table)
	}
	t, _ := s.tables.LoadOrStore(schema, newTable(s.cfg.Dialect, s.names.table(schema.Name), schema))
	return t.(*table)
}

func newTable(d *Dialect, name string, schema *driver.Schema) *table {
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
func (t *table) read(named []string) ([]*driver.Column, string) {
	if len(named) == 0 {
		return t.all, t.columns
	}
	var columns []*driver.Column
	for _, name := range append([]string{"id", "scope", "key"}, named...) {
		if c := t.schema.Column(name); !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns, list(columns, "", "")
}

// list joins the quoted names of columns, each between two texts.
func list(columns []*driver.Column, before, after string) string {
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

func shapeOf(c *driver.Claim) shape {
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

// reader turns rows of some columns of a table into structs. Its cells are made
// once for all rows.
type reader struct {
	schema *driver.Schema
	cells  []cell
	dest   []any
}

func newReader(s *driver.Schema, columns []*driver.Column) *reader {
	r := &reader{schema: s, cells: make([]cell, len(columns)), dest: make([]any, len(columns))}
	for i := range r.cells {
		r.cells[i].column = columns[i]
		r.dest[i] = &r.cells[i]
	}
	return r
}

// rows runs a statement that answers with some columns of rows of a table.
func (x *tx) rows(ctx context.Context, text string, args []any, t *table, columns []*driver.Column) (rows []driver.Row, err error) {
	err = x.query(ctx, text, args, func(r *sql.Rows) (err error) {
		rows, err = newReader(t.schema, columns).all(r)
		return err
	})
	return rows, err
}

// all reads what is left of rows.
func (r *reader) all(rows *sql.Rows) ([]driver.Row, error) {
	var out []driver.Row
	for rows.Next() {
		row := r.schema.New()
		fields := driver.FieldsOf(row)
		for i := range r.cells {
			r.cells[i].fields = fields
		}
		if err := rows.Scan(r.dest...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// cell is a sql.Scanner that puts a column into the row that is being read.
type cell struct {
	column *driver.Column
	fields driver.Fields
}

// Scan takes what any driver gives for the kind of the column; a new row is
// zero, so NULL leaves it as it is.
func (c *cell) Scan(v any) error {
	if v == nil {
		return nil
	}
	switch c.column.Kind {
	case driver.Int:
		if n, ok := v.(int64); ok {
			c.column.In(c.fields).SetInt(n)
			return nil
		}
	case driver.Bool:
		switch b := v.(type) {
		case bool:
			*c.column.Bool(c.fields) = b
			return nil
		case int64:
			*c.column.Bool(c.fields) = b != 0
			return nil
		}
	case driver.Instant:
		if t, ok := instant(v); ok {
			*c.column.Instant(c.fields) = t
			return nil
		}
	case driver.Bytes:
		if b, ok := v.([]byte); ok {
			c.column.In(c.fields).SetBytes(append([]byte{}, b...))
			return nil
		}
	default:
		if text, ok := asText(v); ok {
			if c.column.Kind == driver.JSON {
				return json.Unmarshal([]byte(text), c.column.In(c.fields).Addr().Interface())
			}
			*c.column.Text(c.fields) = text
			return nil
		}
	}
	return fmt.Errorf("unexpected %T", v)
}

// instant reads PostgreSQL's timestamptz and SQLite's microseconds.
func instant(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return driver.Time(v), true
	case int64:
		return time.UnixMicro(v).UTC(), true
	}
	return time.Time{}, false
}

func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}
