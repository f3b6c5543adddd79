package storagetest

import (
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// stamped is a row with a fingerprint.
type stamped struct {
	storage.Record
	Name  string `db:"name"`
	Print int64  `db:"print,fixed"`
}

var untouchedTheme = theme{name: "untouched", sentences: []sentence{
	{"Untouched tells of rows that are as Insert wrote them", func(w *world) {
		s := w.stamps()
		rows := s.insert("", "a", "b", "c")
		s.told("all", "", rows, rows...)
		s.told("by their keys", "", rows[:2], rows[:2]...)
	}},
	{"a row that was saved or claimed since is none of them", func(w *world) {
		s := w.stamps()
		rows := s.insert("", "a", "b", "c", "d")
		w.tx(func(tx storage.Tx) error { return s.table.Save(w.ctx, tx, rows[1]) })
		w.tx(func(tx storage.Tx) error {
			c := due("token")
			c.Lanes[0].Limit = 1
			claimed, err := s.table.Claim(w.ctx, tx, c)
			w.same("claimed", len(claimed), 1)
			return err
		})
		s.told("those that are left", "", rows, rows[2:]...)
	}},
	{"nor one that was saved where it was inserted", func(w *world) {
		s := w.stamps()
		rows := s.stamped("", "a", "b")
		w.tx(func(tx storage.Tx) error {
			_, err := s.table.Ensure(w.ctx, tx, s.unchanged, rows...)
			if err != nil {
				return err
			}
			return s.table.Save(w.ctx, tx, rows[0])
		})
		s.told("the other", "", rows, rows[1])
	}},
	{"nor one of another scope", func(w *world) {
		s := w.stamps()
		s.insert("one", "a", "b")
		two := s.insert("two", "b", "c")
		s.told("those of two", "two", two, two...)
	}},
	{"keys that no row can have are none", func(w *world) {
		s := w.stamps()
		s.insert("", "a")
		for _, keys := range [][]string{nil, {"\x00"}, {"a\xff"}} {
			w.same("fingerprints", len(s.ask("", keys...)), 0)
		}
	}},
	{"Ensure of many rows answers as if it had read them", ensureOfKnown},
}}

// stamps is a table of stamped rows.
type stamps struct {
	*world
	table *storage.Table[stamped]
}

func (w *world) stamps() *stamps {
	w.Helper()
	s := &stamps{w, nil}
	s.restart()
	s.in.createTable(w.T, &s.table.Schema)
	return s
}

// restart is what a new process knows of the table.
func (s *stamps) restart() {
	s.table = storage.Define[stamped](s.things.Name + "_stamped").Deciding("name").Fingerprint("print")
}

func (s *stamps) unchanged(_, _ *stamped) (storage.Outcome, bool) { return storage.Unchanged, false }

// stamped are rows that are due at base.
func (s *stamps) stamped(scope storage.Scope, keys ...string) []*stamped {
	rows := make([]*stamped, len(keys))
	for i, key := range keys {
		rows[i] = &stamped{Record: storage.Record{Scope: scope, Key: key, Status: ready, DueOn: at(i)}, Name: "first"}
	}
	return rows
}

// insert ensures new rows.
func (s *stamps) insert(scope storage.Scope, keys ...string) []*stamped {
	s.Helper()
	rows := s.stamped(scope, keys...)
	s.tx(func(tx storage.Tx) error {
		_, err := s.table.Ensure(s.ctx, tx, s.unchanged, rows...)
		return err
	})
	return rows
}

func (s *stamps) ask(scope storage.Scope, keys ...string) (prints []int64) {
	s.Helper()
	s.tx(func(tx storage.Tx) (err error) {
		prints, err = tx.Untouched(s.ctx, &s.table.Schema, scope, keys)
		return err
	})
	return prints
}

// told fails the test unless, of the rows asked about, those in want are told of;
// an adapter that cannot tell says so, and tells of none.
func (s *stamps) told(what string, scope storage.Scope, asked []*stamped, want ...*stamped) {
	s.Helper()
	if s.h.NoUntouched != "" {
		want = nil
	}
	s.same(what, sortedPrints(s.ask(scope, keysOfStamped(asked)...)), sortedPrints(printsOfStamped(want)))
}

func keysOfStamped(rows []*stamped) (keys []string) {
	for _, r := range rows {
		keys = append(keys, r.Key)
	}
	return keys
}

func printsOfStamped(rows []*stamped) (prints []int64) {
	for _, r := range rows {
		prints = append(prints, r.Print)
	}
	return prints
}

func sortedPrints(prints []int64) []int64 {
	slices.Sort(prints)
	return append([]int64{}, prints...)
}

// ensureOfKnown asks for rows of which one is new, one was written since, and one
// is wanted otherwise than it is.
func ensureOfKnown(w *world) {
	s := w.stamps()
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = string(rune('A'+i/26)) + string(rune('a'+i%26))
	}
	rows := s.insert("", keys[:99]...)
	rows[10].Name = "second"
	w.tx(func(tx storage.Tx) error { return s.table.Save(w.ctx, tx, rows[10]) })
	rename := func(stored, want *stamped) (storage.Outcome, bool) {
		if stored.Name == want.Name {
			return storage.Unchanged, false
		}
		stored.Name = want.Name
		return storage.Updated, true
	}
	s.restart()
	want := s.stamped("", keys...)
	want[20].Name = "third"
	var got []storage.Ensured[stamped]
	w.tx(func(tx storage.Tx) (err error) {
		got, err = s.table.Ensure(w.ctx, tx, rename, want...)
		return err
	})
	for i, g := range got {
		outcome := storage.Unchanged
		switch i {
		case 10, 20:
			outcome = storage.Updated
		case 99:
			outcome = storage.Created
		}
		w.same(keys[i], []any{g.Outcome, g.Row.Key, g.Row.Name}, []any{outcome, keys[i], want[i].Name})
	}
}
