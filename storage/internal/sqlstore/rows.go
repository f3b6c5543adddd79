package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

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
func (x *tx) rows(ctx context.Context, q statement, s *driver.Schema, columns []*driver.Column) (rows []driver.Row, err error) {
	err = x.query(ctx, q, func(r Rows) (err error) {
		rows, err = newReader(s, columns).all(r)
		return err
	})
	return rows, err
}

// all reads what is left of rows.
func (r *reader) all(rows Rows) ([]driver.Row, error) {
	var out []driver.Row
	for rows.Next() {
		row := r.next()
		if err := rows.Scan(r.dest...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// next makes the row that is read next. Text that is never NULL goes right into its
// field: drivers make fewer copies.
func (r *reader) next() driver.Row {
	row := r.schema.New()
	fields := driver.FieldsOf(row)
	for i := range r.cells {
		if c := r.cells[i].column; c.Type == driver.Text && !c.Null {
			r.dest[i] = c.Text(fields)
			continue
		}
		r.cells[i].fields = fields
	}
	return row
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
	switch c.column.Type {
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
			if c.column.Type == driver.JSON {
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

// readGroups reads rows that end with a count; nothing counted is not a group.
func readGroups(s *driver.Schema, columns []*driver.Column, rows Rows) ([]driver.Group, error) {
	r := newReader(s, columns)
	var n int
	dest := append(slices.Clone(r.dest), &n)
	var out []driver.Group
	for rows.Next() {
		row := s.New()
		fields := driver.FieldsOf(row)
		for i := range r.cells {
			r.cells[i].fields = fields
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, driver.Group{Row: row, N: n})
		}
	}
	return out, nil
}
