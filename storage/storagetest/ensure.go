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

func (c *countingTx) Get(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, columns []string) ([]driver.Row, error) {
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
