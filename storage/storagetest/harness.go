package storagetest

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
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
	// Alone is the reason why transactions and views run one after the other.
	Alone string
	// NoFolder is the reason why blobs cannot be kept in a folder.
	NoFolder string
}

// Options are what the suite asks of a store that it opens: each field is given
// to the adapter's option of the same name. Zero values ask for the default.
type Options struct {
	Clock       driver.Clock
	Rand        io.Reader
	Environment string
	BlobDir     string
}

// Instance is one database with a store on it.
type Instance struct {
	Store driver.Store
	// CreateTable makes the table of a schema of the suite, with its indexes: primary
	// key, unique (scope, key) and, if rows are due at times, (lane, due_on, id).
	// Nil means that tables need no making.
	CreateTable func(ctx context.Context, s *driver.Schema) error
	// Second opens the same database once more, independently, as another process
	// would, with the same options except for Environment, which is given.
	Second func(t testing.TB, environment string) driver.Store
	// Begin begins a transaction of the host and joins it. It is called for one
	// transaction at a time.
	Begin func(t testing.TB) *Host
	// Inspect tells what the database has for a table.
	Inspect func(ctx context.Context, s *driver.Schema) (*LiveTable, error)
}

// Host is an open transaction of a host.
type Host struct {
	Tx       driver.Tx // joined
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
	Kinds []driver.ColumnType
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

// theme is a part of the contract.
type theme struct {
	name      string
	sentences []sentence
	// missing gives the reason for which a harness lacks what the theme is about.
	missing func(Harness) string
	// options are for the theme's database, beside the clock.
	options func(testing.TB) Options
	// apart gives each sentence a database of its own.
	apart bool
}

// sentence is one of the contract's, with what shows that it holds.
type sentence struct {
	says string
	show func(w *world)
}

// themes in the order in which a reader meets the contract.
func themes() []theme {
	return []theme{
		insertTheme, identityTheme, scopeTheme, ensureTheme,
		claimTheme, laneTheme, takeOverTheme, exclusionTheme,
		saveTheme, extendTheme, deleteTheme,
		conditionTheme, pagingTheme, countTheme, tallyTheme, plannedTheme,
		textTheme, valueTheme, timeTheme, jsonTheme,
		transactionTheme, isolationTheme, viewTheme, contextTheme, joinTheme,
		wakingTheme, nextTheme,
		blobTheme, folderTheme, environmentTheme,
		schemaTheme, modelTheme,
	}
}

// Run checks the adapter behind h. Themes run in parallel, each on a database of
// its own; the subtests of a theme have a table of their own.
func Run(t *testing.T, h Harness) {
	if h.Open == nil {
		t.Fatal("harness: Open is nil")
	}
	for _, theme := range themes() {
		t.Run(theme.name, func(t *testing.T) {
			t.Parallel()
			theme.run(t, h)
		})
	}
}

func (th theme) run(t *testing.T, h Harness) {
	if th.missing != nil {
		if reason := th.missing(h); reason != "" {
			t.Skipf("declared by the harness: %s", reason)
		}
	}
	w := th.open(t, h)
	for i, s := range th.sentences {
		t.Run(s.says, func(t *testing.T) {
			if th.apart {
				w = th.open(t, h)
			}
			s.show(w.with(t, fmt.Sprintf("suite_%d", i)))
		})
	}
}

func (th theme) open(t *testing.T, h Harness) *world {
	t.Helper()
	o := Options{}
	if th.options != nil {
		o = th.options(t)
	}
	mock := clock.NewMock()
	mock.Set(base)
	o.Clock = mock
	in := h.open(t, o)
	return &world{h: h, in: in, store: in.Store, clock: mock}
}

// base is the moment at which the clocks of the suite begin.
var base = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// at is base and n microseconds.
func at(n int) time.Time { return base.Add(time.Duration(n) * time.Microsecond) }

// createTable makes a table for the suite; the schema's name is new.
func (in *Instance) createTable(t testing.TB, s *driver.Schema) {
	t.Helper()
	if in.CreateTable == nil {
		return
	}
	if err := in.CreateTable(t.Context(), s); err != nil {
		t.Fatalf("create table %s: %v", s.Name, err)
	}
}
