package memory

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/belfry-go/belfry/storage/driver"
)

// table holds the rows of one schema under the indexes that the verbs need.
type table struct {
	shape  *shape
	lastID int64
	byID   map[int64]*entry
	byKey  map[driver.ScopedKey]*entry
	due    map[int16]*btree.BTreeG[*entry] // per lane, by (due, id)
}

// entry is the place of a row. Its image is replaced, never changed.
type entry struct {
	id   int64
	due  int64 // microseconds since the epoch; never if DueOn is zero
	lane int16
	call uint64 // the last verb that took this row, to notice one given twice
	img  *image // nil once deleted
}

const never = math.MinInt64

func newTable(s *driver.Schema) *table {
	return &table{
		shape: newShape(s),
		byID:  map[int64]*entry{},
		byKey: map[driver.ScopedKey]*entry{},
		due:   map[int16]*btree.BTreeG[*entry]{},
	}
}

// table finds a table by name and makes it on first use, which is all that a
// migration is here.
func (s *Store) table(schema *driver.Schema) (*table, error) {
	if schema.Whole != nil {
		schema = schema.Whole
	}
	t := s.tables[schema.Name]
	if t == nil {
		t = newTable(schema)
		s.tables[schema.Name] = t
	}
	if t.shape.schema != schema && t.shape.rowType != reflect.TypeOf(schema.New()) {
		return nil, fmt.Errorf("memory: table %s is used with %s and %T", schema.Name, t.shape.rowType, schema.New())
	}
	return t, nil
}

// set makes img the row of e in all indexes; nil takes the row out of them.
func (t *table) set(e *entry, img *image) {
	due := int64(never)
	if img != nil && img.due != nil && !img.due.DueOn.IsZero() {
		due = img.due.DueOn.UnixMicro()
	}
	switch {
	case img == nil:
		delete(t.byID, e.id)
		delete(t.byKey, driver.ScopedKey{Scope: e.img.rec.Scope, Key: e.img.rec.Key})
	case e.img == nil:
		t.byID[e.id] = e
		t.byKey[driver.ScopedKey{Scope: img.rec.Scope, Key: img.rec.Key}] = e
	}
	if due != e.due {
		t.move(e, due)
	}
	e.img = img
}

func (t *table) move(e *entry, due int64) {
	if e.due != never {
		t.due[e.lane].Delete(e)
	}
	e.due = due
	if due != never {
		t.laneOf(e.lane).Set(e)
	}
}

func (t *table) laneOf(lane int16) *btree.BTreeG[*entry] {
	tree := t.due[lane]
	if tree == nil {
		tree = btree.NewBTreeGOptions(earlier, btree.Options{NoLocks: true})
		t.due[lane] = tree
	}
	return tree
}

func earlier(a, b *entry) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return a.id < b.id
}

// image is one version of a row in the form a database gives it back. It shares
// no memory with callers and is never changed.
type image struct {
	row  driver.Row
	rec  *driver.Record
	due  *driver.Due // nil: the table is never due
	json []string    // the texts of shape.json, empty for NULL
}

// shape knows which columns of a schema a plain copy of the struct leaves shared
// or unlike what a database returns.
type shape struct {
	schema  *driver.Schema
	rowType reflect.Type
	apart   bool    // columns are copied one by one, not the struct as a whole
	blank   [][]int // fields that are not columns, which a copy of the whole clears
	fixed   []*driver.Column
	instant []*driver.Column
	bytes   []*driver.Column
	json    []*driver.Column
	parts   map[*driver.Schema]*part
}

func newShape(s *driver.Schema) *shape {
	p := &shape{schema: s, rowType: reflect.TypeOf(s.New()), parts: map[*driver.Schema]*part{}}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Fixed {
			p.fixed = append(p.fixed, c)
		}
		switch c.Type {
		case driver.Instant:
			p.instant = append(p.instant, c)
		case driver.Bytes:
			p.bytes = append(p.bytes, c)
		case driver.JSON:
			p.json = append(p.json, c)
		}
	}
	for _, f := range reflect.VisibleFields(p.rowType.Elem()) {
		if f.Tag.Get("db") == "" && !f.Anonymous {
			p.blank = append(p.blank, f.Index)
			p.apart = p.apart || !f.IsExported() // reflection cannot clear it
		}
	}
	return p
}

// copyRow copies the columns of a row and nothing else; slices, maps and
// pointers stay shared.
func (p *shape) copyRow(r driver.Row) driver.Row {
	out := p.schema.New()
	if p.apart {
		for i := range p.schema.Columns {
			c := &p.schema.Columns[i]
			c.Field(out).Set(c.Field(r))
		}
		return out
	}
	v := reflect.ValueOf(out).Elem()
	v.Set(reflect.ValueOf(r).Elem())
	for _, index := range p.blank {
		v.FieldByIndex(index).SetZero()
	}
	return out
}

// image makes the stored form of r; fixed columns come from old if there is one, but
// for those that are rewritten.
func (p *shape) image(r driver.Row, old *image, rewritten []*driver.Column) (*image, error) {
	row := p.copyRow(r)
	img := &image{row: row, rec: driver.RecordOf(row), due: driver.DueOf(row)}
	for _, c := range p.instant {
		t := c.Field(row).Addr().Interface().(*time.Time)
		*t = driver.Time(*t)
	}
	for _, c := range p.bytes {
		if err := settle(c, row); err != nil {
			return nil, err
		}
	}
	if err := p.settleJSON(img, old); err != nil {
		return nil, err
	}
	if old != nil {
		p.keepFixed(img, old, rewritten)
	}
	return img, nil
}

// settle passes a column through its canonical form.
func settle(c *driver.Column, row driver.Row) error {
	v, err := c.Value(row)
	if err != nil {
		return err
	}
	return c.Set(row, v)
}

// settleJSON replaces values by what their text gives back. A text that is
// that of old gives old's value, which is never changed.
func (p *shape) settleJSON(img, old *image) error {
	if len(p.json) == 0 {
		return nil
	}
	img.json = make([]string, len(p.json))
	for i, c := range p.json {
		v, err := c.Value(img.row)
		if err != nil {
			return err
		}
		img.json[i], _ = v.(string)
		if old != nil && old.json[i] == img.json[i] {
			c.Field(img.row).Set(c.Field(old.row))
			continue
		}
		if err := c.Set(img.row, v); err != nil {
			return err
		}
	}
	return nil
}

func (p *shape) keepFixed(img, old *image, rewritten []*driver.Column) {
	for _, c := range p.fixed {
		if !slices.Contains(rewritten, c) {
			c.Field(img.row).Set(c.Field(old.row))
		}
	}
	for i, c := range p.json {
		if c.Fixed && !slices.Contains(rewritten, c) {
			img.json[i] = old.json[i]
		}
	}
}

// next copies an image for a change of its Due.
func (p *shape) next(old *image) *image {
	row := p.copyRow(old.row)
	return &image{row: row, rec: driver.RecordOf(row), due: driver.DueOf(row), json: old.json}
}

// load makes the caller's own copy of an image.
func (p *shape) load(img *image) (driver.Row, error) {
	row := p.copyRow(img.row)
	for _, c := range p.bytes {
		if f := c.Field(row); !f.IsNil() {
			f.SetBytes(append([]byte{}, f.Bytes()...))
		}
	}
	for i, c := range p.json {
		if c.Field(row).IsZero() {
			continue
		}
		if err := c.Set(row, img.json[i]); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// part is what a schema sees of a table in another way than the whole; see
// driver.Schema.Whole.
type part struct {
	kept   []*driver.Column // stay as they are stored, besides those that are fixed for all
	json   []int            // those of them in shape.json
	unread []*driver.Column
	// rewritten are fixed for all but who has this part; see driver.Table.Rewriting.
	rewritten []*driver.Column
}

// part compares s with the whole.
func (p *shape) part(s *driver.Schema) *part {
	if known := p.parts[s]; known != nil {
		return known
	}
	made := &part{}
	for i := range p.schema.Columns {
		c := &p.schema.Columns[i]
		n := slices.IndexFunc(s.Columns, func(o driver.Column) bool { return o.Name == c.Name })
		switch {
		case n < 0:
			made.unread = append(made.unread, c)
		case !s.Columns[n].Fixed && c.Fixed:
			made.rewritten = append(made.rewritten, c)
		case s.Columns[n].Fixed && !c.Fixed:
			made.kept = append(made.kept, c)
			if j := slices.Index(p.json, c); j >= 0 {
				made.json = append(made.json, j)
			}
		}
	}
	p.parts[s] = made
	return made
}

// keep puts what a worker does not write back to what it was.
func (p *part) keep(img, old *image) {
	for _, c := range p.kept {
		c.Field(img.row).Set(c.Field(old.row))
	}
	for _, i := range p.json {
		img.json[i] = old.json[i]
	}
}

// leaveOut clears what a worker does not read.
func (p *part) leaveOut(r driver.Row) {
	for _, c := range p.unread {
		c.Field(r).SetZero()
	}
}
