package memory

import (
	"fmt"
	"math"
	"reflect"

	"github.com/tidwall/btree"

	"github.com/belfry-go/belfry/storage"
)

// table holds the rows of one schema under the indexes that the verbs need.
type table struct {
	shape  *shape
	lastID int64
	byID   map[int64]*entry
	byKey  map[identity]*entry
	due    map[int16]*btree.BTreeG[*entry] // per lane, by (due, id)
}

type identity struct {
	scope storage.Scope
	key   string
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

func newTable(s *storage.Schema) *table {
	return &table{
		shape: newShape(s),
		byID:  map[int64]*entry{},
		byKey: map[identity]*entry{},
		due:   map[int16]*btree.BTreeG[*entry]{},
	}
}

// table finds a table by name and makes it on first use, which is all that a
// migration is here.
func (s *Store) table(schema *storage.Schema) (*table, error) {
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
	if img != nil && !img.rec.DueOn.IsZero() {
		due = img.rec.DueOn.UnixMicro()
	}
	switch {
	case img == nil:
		delete(t.byID, e.id)
		delete(t.byKey, identity{e.img.rec.Scope, e.img.rec.Key})
	case e.img == nil:
		t.byID[e.id] = e
		t.byKey[identity{img.rec.Scope, img.rec.Key}] = e
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
