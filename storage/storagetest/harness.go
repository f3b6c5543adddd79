package storagetest

import (
	"context"
	"io"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
)

// Harness opens an adapter for the suite, and declares what it cannot do.
type Harness struct {
	// Open makes an empty database and a store on it, and arranges with
	// t.Cleanup that both go away. It is called from several goroutines, and
	// ends the test if it fails.
	Open func(t testing.TB, o Options) *Instance

	// NoJoin is the reason why the adapter has no Join; empty: it has one.
	NoJoin string
	// NoSecondHandle is the reason why a database cannot be opened twice.
	NoSecondHandle string
	// NoInspect is the reason why there is no live schema to look at.
	NoInspect string
	// NoUntouched is the reason why Untouched tells of no rows.
	NoUntouched string
	// NoFolder is the reason why blobs cannot be kept in a folder.
	NoFolder string
}

// Options are what the suite asks of a store that it opens: each field is given
// to the adapter's option of the same name. Zero values ask for the default.
type Options struct {
	Clock       clock.Clock
	Rand        io.Reader
	Environment string
	BlobDir     string
}

// Instance is one database with a store on it.
type Instance struct {
	Store storage.Store
	// CreateTable makes the table of a schema of the suite, with the indexes that
	// every table has: primary key, unique (scope, key) and (lane, due_on, id).
	// Nil means that tables need no making.
	CreateTable func(ctx context.Context, s *storage.Schema) error
	// Second opens the same database once more, independently, as another process
	// would, with the same options except for Environment, which is given.
	Second func(t testing.TB, environment string) storage.Store
	// Begin begins a transaction of the host and joins it. It is called for one
	// transaction at a time.
	Begin func(t testing.TB) *Host
	// Inspect tells what the database has for a table.
	Inspect func(ctx context.Context, s *storage.Schema) (*LiveTable, error)
}

// Host is an open transaction of a host.
type Host struct {
	Tx       storage.Tx // joined
	Commit   func() error
	Rollback func() error
}

// LiveTable is a table as the database describes it.
type LiveTable struct {
	Columns []LiveColumn
	Indexes []LiveIndex
}

// LiveColumn is a column of a LiveTable.
type LiveColumn struct {
	Name string
	// Kinds are those that a column of this type can hold.
	Kinds []storage.Kind
	// NotNull says that the column refuses NULL.
	NotNull bool
	// Generated says that the database gives a value where Insert gives none.
	Generated bool
}

// LiveIndex is an index of a LiveTable, the primary key included.
type LiveIndex struct {
	Name string
	// Columns are the indexed ones, in order.
	Columns []string
	// Touches are the other columns it depends on: included ones, and those of
	// its predicate.
	Touches []string
	Unique  bool
	// Partial says that the index has a predicate.
	Partial bool
}

// open opens an instance and fails the test if it lacks what the harness does
// not declare as missing.
func (h Harness) open(t testing.TB, o Options) *Instance {
	t.Helper()
	in := h.Open(t, o)
	must := func(have bool, declared, what string) {
		if have == (declared != "") {
			t.Fatalf("harness: %s is there: %t, declared as missing: %q", what, have, declared)
		}
	}
	must(in.Begin != nil, h.NoJoin, "Begin")
	must(in.Second != nil, h.NoSecondHandle, "Second")
	must(in.Inspect != nil, h.NoInspect, "Inspect")
	return in
}
