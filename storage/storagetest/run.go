package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
)

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
		conditionTheme, pagingTheme, countTheme, tallyTheme, untouchedTheme, plannedTheme,
		textTheme, valueTheme, timeTheme, jsonTheme,
		transactionTheme, isolationTheme, contextTheme, joinTheme,
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
func (in *Instance) createTable(t testing.TB, s *storage.Schema) {
	t.Helper()
	if in.CreateTable == nil {
		return
	}
	if err := in.CreateTable(t.Context(), s); err != nil {
		t.Fatalf("create table %s: %v", s.Name, err)
	}
}
