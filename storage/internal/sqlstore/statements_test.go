package sqlstore

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

// verbs runs each writing verb for n rows.
func allVerbs(t *testing.T, s *Store, n int) {
	t.Helper()
	rows := make([]*job, n)
	for i := range rows {
		rows[i] = &job{Due: driver.Due{Record: driver.Record{ID: int64(i + 1), Key: fmt.Sprint(i), Version: 1}}}
	}
	keys := make([]string, n)
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		if _, err := jobs.Insert(t.Context(), tx, rows...); err != nil {
			return err
		}
		c := driver.Claim{Statuses: keys, Lanes: []driver.LaneClaim{{Limit: n}}}
		if _, err := jobs.Claim(t.Context(), tx, c); err != nil {
			return err
		}
		_ = jobs.Save(t.Context(), tx, rows...)   // all stale: the fake
		_ = jobs.Delete(t.Context(), tx, rows...) // hits nothing
		if _, err := jobs.Extend(t.Context(), tx, time.Time{}, rows...); err != nil {
			return err
		}
		_, err := jobs.Find(t.Context(), tx, "", driver.Query{Where: []driver.Cond{driver.In("key", keys)}, Limit: n})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A statement for each verb and nothing for each row. For few rows its text
// depends on nothing, for many on what they share, but not on how many there are.
func TestPostgresTakesOneStatementForAnyNumberOfRows(t *testing.T) {
	t.Parallel()
	for _, numbers := range [][]int{{1, 2, manyRows - 1}, {manyRows, 500}} {
		var texts [][]string
		for _, n := range numbers {
			f := &fake{}
			allVerbs(t, f.store(t, nil), n)
			if log := f.log(); log != "BEGIN INSERT UPDATE UPDATE DELETE UPDATE SELECT COMMIT" {
				t.Errorf("%d rows: %s", n, log)
			}
			if texts = append(texts, f.texts); len(texts) == 1 {
				continue
			}
			if diff := cmp.Diff(texts[0], f.texts); diff != "" {
				t.Errorf("texts for %d and for %d rows:\n%s", numbers[0], n, diff)
			}
		}
	}
}

// On SQLite, where a row costs no round trip, texts stay few so that the driver
// keeps all of them prepared.
func TestSQLiteTakesFewTextsForAnyNumberOfRows(t *testing.T) {
	t.Parallel()
	texts := map[string]bool{}
	for _, n := range []int{1, 3, 500, 1000} {
		f := &fake{}
		allVerbs(t, f.store(t, func(c *Config) { c.Dialect = SQLite }), n)
		for _, text := range f.texts {
			texts[text] = true
		}
	}
	// BEGIN, COMMIT, an INSERT for each of the chunks, a look for due rows,
	// updates of few rows and of many, delete, extend and select. What was found is
	// marked by one more.
	const chunks = 4
	if want := 2 + chunks + 6; len(texts) != want {
		t.Errorf("%d texts instead of %d", len(texts), want)
	}
}

// The driver is not asked about rows after the context has ended: SQLite would
// write them outside of the transaction.
func TestI30_SQLiteWritesNoRowAfterTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{answer: func(_ context.Context, text string) error {
		if strings.HasPrefix(text, "UPDATE") {
			cancel()
		}
		return nil
	}}
	s := f.store(t, func(c *Config) { c.Dialect = SQLite })
	err := s.InTx(ctx, func(tx driver.Tx) error {
		return jobs.Save(ctx, tx, &job{Due: driver.Due{Record: driver.Record{ID: 1, Key: "a"}}}, &job{Due: driver.Due{Record: driver.Record{ID: 2, Key: "b"}}})
	})
	if log := f.log(); !errors.Is(err, context.Canceled) || log != "BEGIN UPDATE ROLLBACK" {
		t.Errorf("%s: %v", log, err)
	}
}

// Only look-ups by unguessable values may read across scopes; every other read
// has its scope in the statement.
func TestI28_EveryReadFiltersItsScope(t *testing.T) {
	t.Parallel()
	for _, d := range []*Dialect{PostgreSQL, SQLite} {
		f := &fake{}
		s := f.store(t, func(c *Config) { c.Dialect = d })
		read := func(reach driver.ScopeFilter) {
			f.texts = nil
			err := s.InTx(t.Context(), func(tx driver.Tx) error {
				if _, err := tx.Select(t.Context(), &jobs.Schema, reach, driver.Query{Limit: 1}); err != nil {
					return err
				}
				_, err := tx.Count(t.Context(), &jobs.Schema, reach, nil, 1)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		filtered := func(text string) bool { return strings.Contains(text, `WHERE "scope" = `) }
		if read(driver.Within("north")); !slices.ContainsFunc(f.texts[1:2], filtered) || !slices.ContainsFunc(f.texts[2:3], filtered) {
			t.Errorf("no scope in %q", f.texts[1:3])
		}
		if read(driver.Everywhere()); slices.ContainsFunc(f.texts, filtered) {
			t.Errorf("a scope in %q", f.texts)
		}
	}
}

// A row that was not sent cannot be answered for.
func TestInsertRefusesAnAnswerAboutAnotherRow(t *testing.T) {
	t.Parallel()
	f := &fake{rows: func(string) [][]sqldriver.Value { return [][]sqldriver.Value{{int64(1), "", "foreign"}} }}
	err := f.store(t, nil).InTx(t.Context(), func(tx driver.Tx) error {
		_, err := jobs.Insert(t.Context(), tx, &job{Due: driver.Due{Record: driver.Record{Key: "own"}}})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "not asked about") {
		t.Errorf("got %v", err)
	}
}

// No value is in a text: its question marks would be taken for parameters.
func TestEveryParameterHasItsPlace(t *testing.T) {
	t.Parallel()
	f := &fake{}
	odd := []string{"?", "'?", "$1", `"`}
	err := f.store(t, nil).InTx(t.Context(), func(tx driver.Tx) error {
		for _, v := range odd {
			where := []driver.Cond{
				driver.Eq("note", v), driver.Less("note", v), driver.In("note", odd),
				driver.Any(driver.Eq("key", v), driver.Null("due_on")),
			}
			q := driver.Query{Where: where, OrderBy: "note", After: &driver.Position{Value: v}, Limit: 1}
			if _, err := jobs.Find(t.Context(), tx, driver.Scope(v), q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range f.texts[1 : 1+len(odd)] {
		if strings.Contains(text, "?") || strings.Count(text, "$") != f.params[0] || !strings.Contains(text, fmt.Sprintf("$%d", f.params[0])) {
			t.Errorf("%d parameters for %s", f.params[0], text)
		}
	}
}
