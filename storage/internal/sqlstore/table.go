package sqlstore

import (
	"slices"
	"strings"
	"sync"

	"github.com/belfry-go/belfry/storage/driver"
)

// tableText is what both dialects say alike about one table. What depends on the
// schema alone is written once.
type tableText struct {
	schema  *driver.Schema
	dialect *Dialect
	name    string // qualified and quoted
	all     []*driver.Column
	columns string // all of them, quoted
	// insertable are all columns but id and, where new rows begin with 1, version; mutable
	// all that are not fixed but version.
	insertable, mutable []*driver.Column
	shapes              sync.Map // shape to string
}

// changeKind is a verb that changes rows by id, if a second column still is what the
// caller saw: the version, for changeExtend the claim token.
type changeKind int

// The changes. changeExtend has one parameter that leads: the end of the lease.
const (
	changeUpdate changeKind = iota
	changeDelete
	changeExtend
)

// text lets a table of either dialect be asked for what they say alike.
func (t *tableText) text() *tableText { return t }

// fill describes the table of a schema.
func (t *tableText) fill(n naming, schema *driver.Schema) {
	t.schema, t.dialect, t.name = schema, n.Dialect, n.table(schema.Name)
	for i := range schema.Columns {
		c := &schema.Columns[i]
		t.all = append(t.all, c)
		if c.Name != "id" && (c.Name != "version" || schema.Versioned) {
			t.insertable = append(t.insertable, c)
		}
		if !c.Fixed && c.Name != "version" {
			t.mutable = append(t.mutable, c)
		}
	}
	t.columns = list(t.all, "", "")
}

// first are the name and the value of the version of new rows in an INSERT, behind the
// insertable columns; empty where that is one of them.
func (t *tableText) first() (name, value string) {
	if t.schema.Versioned {
		return "", ""
	}
	return `, "version"`, ", 1"
}

// read are the columns of a query, and their list.
func (t *tableText) read(named []string) ([]*driver.Column, string) {
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
	next  bool // the first places only
	lanes int  // of a look for them on SQLite

	kinds, scopes, except, exceptKinds bool
	names                              string // the column of Claim.ExceptNames
}

func shapeOf(c *driver.Claim) shape {
	return shape{kinds: c.Kinds != nil, scopes: c.Scopes != nil, except: len(c.Except) > 0, exceptKinds: len(c.ExceptKinds) > 0, names: c.ExceptNames.Column}
}

// shaped returns the text of a shape, which write makes with ? for parameters.
func (t *tableText) shaped(s shape, write func(shape) string) string {
	if text, ok := t.shapes.Load(s); ok {
		return text.(string)
	}
	text, _ := t.shapes.LoadOrStore(s, t.dialect.rebind(write(s)))
	return text.(string)
}
