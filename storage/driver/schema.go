package driver

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Scope keeps tenants apart: it is part of every unique key and an argument of
// every read. The empty Scope is that of a host with a single tenant. It is valid
// UTF-8 without NUL, of at most 200 bytes; another one is a [*ValueError], before
// anything is read or written.
type Scope string

// Bounds of text that is in an index, in bytes: an entry of PostgreSQL's has room for 2704,
// and two or three of these are in one. Package keys makes no longer keys.
const (
	maxScope   = 200
	maxKey     = 2250
	maxKind    = 200
	maxIndexed = 512
)

// Record is what every table has in common: how a row is found and written back.
// Structs embed it by value, or [Due], and add their business columns.
type Record struct {
	// ID breaks ties. It is not shown outside and promises no order of insertion.
	ID int64 `db:"id,fixed"`
	// Scope is the tenant.
	Scope Scope `db:"scope,fixed"`
	// Key is the business identity, unique within Scope and compared byte by byte. It has
	// at most 2250 bytes.
	Key string `db:"key,fixed"`
	// Kind is the registered name that serves the row, such as a reminder type or a
	// channel, of at most 200 bytes. Every process serves rows whose Kind is empty: passes ask for them beside
	// the kinds they know.
	Kind string `db:"kind"`
	// Status belongs to the owning package.
	Status string `db:"status"`
	// Version grows by one with every write except Extend. It is 1 after Insert.
	Version int64 `db:"version"`
}

// Due is a [Record] of a table whose rows are worked on when they are due: embed it
// instead of Record, and Claim, Next and Extend take them.
type Due struct {
	Record
	// Lane orders kinds of work: LaneUrgent, LaneNormal, LaneBulk or a host's own.
	Lane int16 `db:"lane,fixed"`
	// DueOn is when the row is claimed next; zero means never.
	DueOn time.Time `db:"due_on"`
	// LeaseExpiresOn is zero unless the row is held. It protects against a crash
	// and never says which worker holds the row.
	LeaseExpiresOn time.Time `db:"lease_expires_on"`
	// ClaimToken is fresh for every claim and kept when the row is settled, so
	// that a worker whose reply was lost can tell whether its claim won.
	ClaimToken string `db:"claim_token"`
	// Abandoned is set by a claim that took over an expired lease.
	Abandoned bool `db:"abandoned"`
}

// The lanes that every due table knows; hosts may add their own numbers.
const (
	LaneUrgent int16 = -1
	LaneNormal int16 = 0
	LaneBulk   int16 = 1
)

func (r *Record) record() *Record { return r }

func (r *Record) due() *Due { return nil }

func (d *Due) due() *Due { return d }

// Row is a pointer to a struct that embeds [Record] or [Due]. It is sealed: embedding
// one of them is the only way to implement it.
type Row interface {
	record() *Record
	due() *Due
}

// RecordOf returns the shared columns of r, for adapters and passes.
func RecordOf(r Row) *Record { return r.record() }

// DueOf returns what r is claimed by; nil for a row of a table that is never due.
func DueOf(r Row) *Due { return r.due() }

// ColumnType is what a column holds; an adapter maps each of them once.
type ColumnType int

// The kinds of column, with the Go types that have them.
const (
	Text    ColumnType = iota // string
	Int                       // int64, int32, int16, int
	Bool                      // bool
	Instant                   // time.Time
	JSON                      // any type, with the tag option "json"
	Bytes                     // []byte
)

// Column is one column of a table, derived from a struct field by [Define].
type Column struct {
	Name string
	Type ColumnType
	// Fixed columns are written by Insert only, hence they may be indexed; in a part
	// of a table (see Schema.Whole) planned ones are fixed, too.
	Fixed bool
	// Null columns store the Go zero value as NULL.
	Null bool
	// Max bounds the bytes of a Text column; zero is not a bound. Only such text may be
	// indexed.
	Max int
	// Data says what the column tells about people; empty: not declared.
	Data Data

	planned, unclaimed bool // tag options; see Define

	table  string
	row    typeWord // of a pointer to the struct
	field  reflect.Type
	offset uintptr // of the field in the struct
}

// Data is what a column tells about people, for the code that erases or exports what is
// known of one. A field declares it by a tag option; see [Define].
type Data string

// The kinds of data. Numbers, truths and moments need none.
const (
	Plain   Data = "plain"   // nothing: codes, settings, ids of what is not a person
	Person  Data = "person"  // who it is: an id, a reference, a name, a hash of one
	Address Data = "address" // how to reach them: mail, phone, the link that they got
	Content Data = "content" // what was said or done: texts, payloads, answers
	Secret  Data = "secret"  // keys and tokens: nothing to export, ever
)

// Growth says with what a table gets more rows, to plan how long they stay.
type Growth string

// The kinds of growth; see [Table.Grows].
const (
	Bounded      Growth = "bounded"  // not: as many as people configure, or one
	WithEntities Growth = "entities" // one or a few for each person or thing of the host
	WithWork     Growth = "work"     // with each event, run, message or answer
)

// Schema is all that an adapter sees of a table.
type Schema struct {
	Name string
	// Growth is what the table has declared by Grows; empty: nothing.
	Growth Growth
	// Kept and Why are for how long rows stay and what would be lost without them, as
	// declared by Kept; Erased is what becomes of them when a person is erased.
	Kept, Why, Erased string
	Columns           []Column
	// Due says that rows are due at times: they embed [Due].
	Due bool
	// New returns a pointer to a zero row.
	New func() Row
	// MaxRow bounds the bytes of text, JSON and bytes in a row; zero is not a bound.
	// Of a change, JSON that is fixed does not count.
	MaxRow int
	// Whole is the schema of the whole table, if this one says what workers see of
	// it, or what is rewritten of it: Claim and Update get such a one. A column that it
	// lacks is zero in a claimed row, and stays as it is stored.
	Whole *Schema
	// Versioned says that Insert gives new rows the version that they have, instead of 1;
	// see [Copying].
	Versioned bool
}

// Column returns the column of that name. It panics on an unknown one: names
// of columns come from code, never from data.
func (s *Schema) Column(name string) *Column {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return &s.Columns[i]
		}
	}
	panic(fmt.Sprintf("storage: table %s has no column %q", s.Name, name))
}

// Table is the typed front of a schema: its verbs take and give []*R.
type Table[R any] struct {
	Schema
	row         func(*R) Row
	deciding    []string    // see Deciding
	insertFirst atomic.Bool // the last Ensure found few of its rows
	once        sync.Once   // makes part
	part        *Schema     // see worked
}

// Row returns r as an adapter sees it.
func (t *Table[R]) Row(r *R) Row { return t.row(r) }

// Record returns the shared columns of r.
func (t *Table[R]) Record(r *R) *Record { return t.row(r).record() }

// DueOf returns what r is claimed by; nil if t is never due.
func (t *Table[R]) DueOf(r *R) *Due { return t.row(r).due() }

// Limit refuses rows whose text, JSON and bytes exceed n bytes with a
// [*RowSizeError], and returns t. Of a change, JSON that is fixed does not
// count. It is called once, beside Define.
func (t *Table[R]) Limit(n int) *Table[R] {
	t.MaxRow = n
	return t
}

// Grows declares with what the table grows, and returns t. It is called once, beside
// Define.
func (t *Table[R]) Grows(with Growth) *Table[R] {
	t.Growth = with
	return t
}

// Always is for how long rows stay of a table that nothing is deleted from.
const Always = "always"

// Kept declares for how long rows stay, and why: what they are needed for, and what
// has to be kept for keys to stay true. What begins with "Retention." names the field
// of the host's Retention that says so. It returns t, and is called once, beside
// Define.
func (t *Table[R]) Kept(what, why string) *Table[R] {
	t.Schema.Kept, t.Schema.Why = what, why
	return t
}

// Erased declares what becomes of rows when a person is erased, and returns t. A table
// that knows nothing of people need not. It is called once, beside Define.
func (t *Table[R]) Erased(how string) *Table[R] {
	t.Schema.Erased = how
	return t
}

// Deciding names the columns that Ensure's decisions depend on, and returns t. It
// then reads no others of a stored row unless the row is to be written, since
// most are not. It is called once, beside Define.
func (t *Table[R]) Deciding(columns ...string) *Table[R] {
	for _, name := range columns {
		t.Column(name) // panics
	}
	t.deciding = columns
	return t
}

// Define describes the table name by the struct R, which must embed [Record] or [Due].
// A field becomes a column by its tag `db:"column[,option]..."`:
//
//	fixed      Insert writes it, nothing else does
//	null       its zero value is stored as NULL; times are always nullable
//	indexed    text of at most 512 bytes, so that an index may have it
//	json       a field of any type, stored as JSON
//	planned    Settle does not write it
//	unclaimed  Claim does not read it, so that it is zero in a claimed row; fixed
//	plain, person, address, content, secret
//	           what it tells about people; see [Data]
//
// Define panics on a field that has no column kind or options that do not go
// together, on one that another field hides, and on two with one column, since only
// a programmer can cause that.
func Define[R any, P interface {
	*R
	Row
}](name string) *Table[R] {
	t := &Table[R]{
		Schema: Schema{Name: name, New: func() Row { return P(new(R)) }, Due: P(new(R)).due() != nil},
		row:    func(r *R) Row { return P(r) },
	}
	for _, f := range columnFields(name, reflect.TypeFor[R]()) {
		column, options, _ := strings.Cut(f.Tag.Get("db"), ",")
		kind, ok := kindOf(f.Type, options)
		if !ok {
			panic(fmt.Sprintf("storage: %s.%s: no column kind for %s", name, column, f.Type))
		}
		fixed, unclaimed := hasOption(options, "fixed"), hasOption(options, "unclaimed")
		if unclaimed && !fixed {
			panic(fmt.Sprintf("storage: %s.%s: Save would overwrite an unclaimed column that is not fixed", name, column))
		}
		if hasOption(options, "indexed") && kind != Text {
			panic(fmt.Sprintf("storage: %s.%s: only text needs a bound to be indexed", name, column))
		}
		offset, field := place(reflect.TypeFor[R](), f.Index)
		t.Columns = append(t.Columns, Column{
			Name: column, Type: kind, table: name, row: wordOf(reflect.TypeFor[*R]()), field: field, offset: offset,
			Fixed: fixed, planned: hasOption(options, "planned"), unclaimed: unclaimed,
			Null: kind == Instant || hasOption(options, "null"), Max: maxOf(column, options), Data: dataOf(options),
		})
	}
	return t
}

// maxOf is the bound of a column.
func maxOf(column, options string) int {
	switch {
	case column == "scope":
		return maxScope
	case column == "key":
		return maxKey
	case column == "kind":
		return maxKind
	case hasOption(options, "indexed"):
		return maxIndexed
	}
	return 0
}

// columnFields returns the fields of a row that are columns, those of embedded
// structs among them, and refuses any that would be lost.
func columnFields(table string, row reflect.Type) (fields []reflect.StructField) {
	named := map[string]string{}
	var walk func(t reflect.Type, path []int, name string)
	walk = func(t reflect.Type, path []int, name string) {
		for i := range t.NumField() {
			f := t.Field(i)
			f.Index = append(slices.Clone(path), i)
			column, _, _ := strings.Cut(f.Tag.Get("db"), ",")
			if column != "" {
				if seen, ok := row.FieldByName(f.Name); !ok || !slices.Equal(seen.Index, f.Index) {
					panic(fmt.Sprintf("storage: %s.%s: the field %s is hidden by another %s", table, column, name+f.Name, f.Name))
				}
				if first, ok := named[column]; ok {
					panic(fmt.Sprintf("storage: %s.%s: the column of two fields, %s and %s", table, column, first, name+f.Name))
				}
				named[column] = name + f.Name
				fields = append(fields, f)
			}
			if inner := structOf(f.Type); f.Anonymous && inner != nil {
				walk(inner, f.Index, name+f.Name+".")
			}
		}
	}
	walk(row, nil, "")
	return fields
}

// structOf is t, or what it points to, if that is a struct.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

func hasOption(options, name string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == name {
			return true
		}
	}
	return false
}

func dataOf(options string) Data {
	for _, d := range []Data{Plain, Person, Address, Content, Secret} {
		if hasOption(options, string(d)) {
			return d
		}
	}
	return ""
}

func kindOf(t reflect.Type, options string) (ColumnType, bool) {
	if hasOption(options, "json") {
		return JSON, true
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return Instant, true
	case t == reflect.TypeFor[[]byte]():
		return Bytes, true
	}
	switch t.Kind() {
	case reflect.String:
		return Text, true
	case reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int:
		return Int, true
	case reflect.Bool:
		return Bool, true
	}
	return 0, false
}
