package storagetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/belfry-go/belfry/storage/driver"
)

// unchanged is the decision of a caller that leaves stored rows alone.
func unchanged(_, _ *thing) (driver.Outcome, bool) { return driver.Unchanged, false }

// rename is the decision of a caller that gives stored rows the wanted name.
func rename(stored, want *thing) (driver.Outcome, bool) {
	if stored.Name == want.Name {
		return driver.Unchanged, false
	}
	stored.Name = want.Name
	return driver.Updated, true
}

var ensureTheme = theme{name: "ensure", sentences: []sentence{
	{"Ensure inserts a row that is not there", func(w *world) {
		want := newThing("a")
		got := w.ensure(unchanged, want)
		w.same("outcome", outcomes(got), []driver.Outcome{driver.Created})
		w.same("row", got[0].Row, w.get("a"))
	}},
	{"Ensure asks decide about the stored row, and writes if it says so", ensureDecides},
	{"replays write nothing at all", func(w *world) {
		w.ensure(rename, newThings("a", "b")...)
		before := w.all()
		for range 3 {
			got := w.ensure(rename, newThings("a", "b")...)
			w.same("outcomes", outcomes(got), []driver.Outcome{driver.Unchanged, driver.Unchanged})
		}
		w.same("rows", w.all(), before)
	}},
	{"results are in the order of the arguments", func(w *world) {
		w.insert(newThings("b", "d")...)
		for range 2 { // the second time rows are looked up first
			rows := newThings("e", "d", "a", "b", "c")
			for i, got := range w.ensure(unchanged, rows...) {
				w.same("key", got.Row.Key, rows[i].Key)
			}
		}
	}},
	{"rows that repeat a key are settled one after the other", ensureRepeats},
	{"equal keys of two scopes are two rows", func(w *world) {
		w.insert(scoped("one", "a"))
		got := w.ensure(unchanged, scoped("two", "a"), scoped("one", "a"), scoped("", "a"))
		w.same("outcomes", outcomes(got), []driver.Outcome{driver.Created, driver.Unchanged, driver.Created})
		w.same("scope", got[1].Row.Scope, driver.Scope("one"))
	}},
	{"Ensure takes a constant number of statements", ensureIsConstant},
	{"of concurrent Ensures of one key exactly one has Created (I-2)", func(w *world) {
		w.ensureConcurrently(w.store)
	}},
	{"of Ensures through two handles exactly one has Created (I-2)", func(w *world) {
		if w.h.NoSecondHandle != "" {
			w.Skipf("declared by the harness: %s", w.h.NoSecondHandle)
		}
		w.ensureConcurrently(w.store, w.in.Second(w.T, ""))
	}},
}}

func (w *world) ensure(decide driver.Decide[thing], rows ...*thing) (got []driver.Ensured[thing]) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		got, err = w.things.Ensure(w.ctx, tx, decide, rows...)
		return err
	})
	if len(got) != len(rows) {
		w.Fatalf("Ensure of %d rows has %d results", len(rows), len(got))
	}
	return got
}

func outcomes(ensured []driver.Ensured[thing]) []driver.Outcome {
	out := make([]driver.Outcome, len(ensured))
	for i, e := range ensured {
		out[i] = e.Outcome
	}
	return out
}

func ensureDecides(w *world) {
	stored := newThing("a")
	stored.Name, stored.Note = "old", "kept"
	w.insert(stored)
	want := newThing("a")
	want.Name, want.Note = "new", "not looked at"
	got := w.ensure(rename, want)
	w.same("outcome", outcomes(got), []driver.Outcome{driver.Updated})
	w.same("row", got[0].Row, w.get("a"))
	w.same("name", got[0].Row.Name, "new")
	w.same("note", got[0].Row.Note, "kept")
	w.same("version", got[0].Row.Version, int64(2))
}

func ensureRepeats(w *world) {
	rows := newThings("a", "b", "a", "a")
	for i, r := range rows {
		r.Name = fmt.Sprint(i)
	}
	rows[3].Name = "2"
	got := w.ensure(rename, rows...)
	w.same("outcomes", outcomes(got), []driver.Outcome{
		driver.Created, driver.Created, driver.Updated, driver.Unchanged,
	})
	w.same("name", w.get("a").Name, "2")
}

// countingTx counts the verbs of Ensure.
type countingTx struct {
	driver.Tx
	calls int
}

func (c *countingTx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	c.calls++
	return c.Tx.Insert(ctx, s, rows)
}

func (c *countingTx) Get(ctx context.Context, s *driver.Schema, places []driver.Place, columns []string) ([]driver.Row, error) {
	c.calls++
	return c.Tx.Get(ctx, s, places, columns)
}

func (c *countingTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	c.calls++
	return c.Tx.Update(ctx, s, rows)
}

func ensureIsConstant(w *world) {
	count := func(decide driver.Decide[thing], rows []*thing) (calls int) {
		w.tx(func(tx driver.Tx) error {
			counting := &countingTx{Tx: tx}
			_, err := w.things.Ensure(w.ctx, counting, decide, rows...)
			calls = counting.calls
			return err
		})
		return calls
	}
	rows := func(from int) []*thing {
		keys := make([]string, 300)
		for i := range keys {
			keys[i] = fmt.Sprint(from + i)
		}
		return newThings(keys...)
	}
	w.same("all new, the first batch", count(unchanged, rows(0)), 2)
	w.same("all existing, met by surprise", count(unchanged, rows(0)), 2)
	w.same("all existing", count(unchanged, rows(0)), 1)
	mixed := slices.Concat(rows(0)[:200], rows(500)[:100])
	w.same("mixed", count(unchanged, mixed), 2)
	w.same("all new again", count(unchanged, rows(1000)), 2)
	w.same("all new as expected", count(unchanged, rows(2000)), 1)
	scattered := rows(3000)
	for _, r := range scattered {
		r.Scope = driver.Scope(r.Key)
	}
	w.same("all new, each of a scope of its own", count(unchanged, scattered), 1)
	w.same("all existing, each of a scope of its own", count(unchanged, scattered), 2)
}

func (w *world) ensureConcurrently(stores ...driver.Store) {
	const workers, keys = 6, 40
	var mu sync.Mutex
	created := map[string]int{}
	ids := map[string]map[int64]bool{}
	var group sync.WaitGroup
	for n := range workers {
		group.Go(func() {
			rows := make([]*thing, keys)
			for i := range rows { // every worker in another order
				rows[i] = newThing(fmt.Sprint((i*(n+7) + n) % 41 % keys))
			}
			got := w.on(stores[n%len(stores)]).ensure(unchanged, rows...)
			mu.Lock()
			defer mu.Unlock()
			for _, e := range got {
				if ids[e.Row.Key] == nil {
					ids[e.Row.Key] = map[int64]bool{}
				}
				ids[e.Row.Key][e.Row.ID] = true
				if e.Outcome == driver.Created {
					created[e.Row.Key]++
				}
			}
		})
	}
	group.Wait()
	for key, n := range created {
		if n != 1 || len(ids[key]) != 1 {
			w.Errorf("key %s was created %d times, under %d ids", key, n, len(ids[key]))
		}
	}
	w.same("rows", len(created), len(w.all()))
}

// stamped is a row with a fingerprint.
type stamped struct {
	driver.Due
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
		w.tx(func(tx driver.Tx) error { return s.table.Save(w.ctx, tx, rows[1]) })
		w.tx(func(tx driver.Tx) error {
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
		w.tx(func(tx driver.Tx) error {
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
	table *driver.Table[stamped]
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
	s.table = driver.Define[stamped](s.things.Name + "_stamped").Deciding("name").Fingerprint("print")
}

func (s *stamps) unchanged(_, _ *stamped) (driver.Outcome, bool) { return driver.Unchanged, false }

// stamped are rows that are due at base.
func (s *stamps) stamped(scope driver.Scope, keys ...string) []*stamped {
	rows := make([]*stamped, len(keys))
	for i, key := range keys {
		rows[i] = &stamped{Due: driver.Due{Record: driver.Record{Scope: scope, Key: key, Status: ready}, DueOn: at(i)}, Name: "first"}
	}
	return rows
}

// insert ensures new rows.
func (s *stamps) insert(scope driver.Scope, keys ...string) []*stamped {
	s.Helper()
	rows := s.stamped(scope, keys...)
	s.tx(func(tx driver.Tx) error {
		_, err := s.table.Ensure(s.ctx, tx, s.unchanged, rows...)
		return err
	})
	return rows
}

// ask returns no fingerprints where the harness says that the adapter cannot tell.
func (s *stamps) ask(scope driver.Scope, keys ...string) (prints []int64) {
	s.Helper()
	s.tx(func(tx driver.Tx) (err error) {
		able, ok := tx.(driver.Recognizer)
		if s.same("Tx is a Recognizer", ok, s.h.NoUntouched == ""); ok {
			prints, err = able.Untouched(s.ctx, &s.table.Schema, scope, keys)
		}
		return err
	})
	return prints
}

// told fails the test unless, of the rows asked about, those in want are told of;
// an adapter that cannot tell says so, and tells of none.
func (s *stamps) told(what string, scope driver.Scope, asked []*stamped, want ...*stamped) {
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
	w.tx(func(tx driver.Tx) error { return s.table.Save(w.ctx, tx, rows[10]) })
	rename := func(stored, want *stamped) (driver.Outcome, bool) {
		if stored.Name == want.Name {
			return driver.Unchanged, false
		}
		stored.Name = want.Name
		return driver.Updated, true
	}
	s.restart()
	want := s.stamped("", keys...)
	want[20].Name = "third"
	var got []driver.Ensured[stamped]
	w.tx(func(tx driver.Tx) (err error) {
		got, err = s.table.Ensure(w.ctx, tx, rename, want...)
		return err
	})
	for i, g := range got {
		outcome := driver.Unchanged
		switch i {
		case 10, 20:
			outcome = driver.Updated
		case 99:
			outcome = driver.Created
		}
		w.same(keys[i], []any{g.Outcome, g.Row.Key, g.Row.Name}, []any{outcome, keys[i], want[i].Name})
	}
}
