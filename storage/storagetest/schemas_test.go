package storagetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

// liveThing is a table as it should be, made from the struct.
func liveThing(s *driver.Schema) *LiveTable {
	t := &LiveTable{Indexes: []LiveIndex{
		{Name: "id", Columns: []string{"id"}, Unique: true},
		{Name: "key", Columns: []string{"scope", "key"}, Unique: true},
		{Name: "due", Columns: []string{"lane", "due_on", "id"}, Partial: true},
	}}
	for _, c := range s.Columns {
		t.Columns = append(t.Columns, LiveColumn{Name: c.Name, Kinds: []driver.ColumnType{c.Type}, NotNull: !c.Null})
	}
	return t
}

func TestSchemaProblemsAreFound(t *testing.T) {
	t.Parallel()
	column := func(l *LiveTable, name string) *LiveColumn {
		return &l.Columns[slices.IndexFunc(l.Columns, func(c LiveColumn) bool { return c.Name == name })]
	}
	for _, c := range []struct {
		problem string // empty: there is none
		damage  func(l *LiveTable)
	}{
		{"", func(*LiveTable) {}},
		{"", func(l *LiveTable) { l.Columns = append(l.Columns, LiveColumn{Name: "newer"}) }},
		{"", func(l *LiveTable) {
			l.Indexes = append(l.Indexes, LiveIndex{Name: "more", Columns: []string{"origin"}})
		}},
		{"column id is missing", func(l *LiveTable) { l.Columns = l.Columns[1:] }},
		{"column due_on cannot hold its kind", func(l *LiveTable) { column(l, "due_on").Kinds = []driver.ColumnType{driver.Text} }},
		{"column note is NOT NULL: true, nullable in the struct: true", func(l *LiveTable) { column(l, "note").NotNull = true }},
		{"column name is NOT NULL: false, nullable in the struct: false", func(l *LiveTable) { column(l, "name").NotNull = false }},
		{"column extra, which the struct lacks, makes every Insert fail", func(l *LiveTable) {
			l.Columns = append(l.Columns, LiveColumn{Name: "extra", NotNull: true})
		}},
		{"there is no unique index of (scope, key)", func(l *LiveTable) { l.Indexes[1].Unique = false }},
		{"there is no unique index of (scope, key)", func(l *LiveTable) { l.Indexes = slices.Delete(l.Indexes, 1, 2) }},
		{"there is no index of (lane, due_on, id) WHERE due_on IS NOT NULL", func(l *LiveTable) {
			l.Indexes[2].Columns = []string{"due_on", "lane", "id"}
		}},
		{"there is no index of (lane, due_on, id) WHERE due_on IS NOT NULL", func(l *LiveTable) { l.Indexes[2].Partial = false }},
		{"index due depends on status, so that every claim writes it", func(l *LiveTable) {
			l.Indexes = append(l.Indexes, LiveIndex{Name: "due", Columns: []string{"due_on"}, Touches: []string{"status"}})
		}},
		{"index more depends on claim_token, so that every claim writes it", func(l *LiveTable) {
			l.Indexes = append(l.Indexes, LiveIndex{Name: "more", Columns: []string{"claim_token"}})
		}},
		{"index more is a second unique constraint", func(l *LiveTable) {
			l.Indexes = append(l.Indexes, LiveIndex{Name: "more", Columns: []string{"origin"}, Unique: true})
		}},
	} {
		s := &driver.Define[thing]("things").Schema
		live := liveThing(s)
		c.damage(live)
		got := strings.Join(slices.Concat(columnProblems(s, live), indexProblems(s, live)), "; ")
		if diff := cmp.Diff(c.problem, got); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
}
