package storagetest

import (
	"fmt"

	"github.com/belfry-go/belfry/storage/driver"
)

var insertTheme = theme{name: "insert", sentences: []sentence{
	{"Insert adds rows and tells which were new", func(w *world) {
		w.insert(newThings("b", "d")...)
		got := w.insertSome(newThings("a", "b", "c", "d", "e")...)
		w.same("answers", got, []bool{true, false, true, false, true})
		w.same("number of rows", len(w.all()), 5)
	}},
	{"an existing scope and key leaves the stored row as it is", func(w *world) {
		w.insert(newThing("a"))
		before := w.get("a")
		other := newThing("a")
		other.Name, other.Status, other.DueOn = "other", done, at(9)
		w.insertSome(other)
		w.same("stored row", w.get("a"), before)
	}},
	{"a new row gets its ID and Version 1", insertGivesID},
	{"a key twice in one call is inserted once", func(w *world) {
		rows := newThings("a", "b", "a")
		rows[0].Name, rows[2].Name = "first", "second"
		w.same("answers", w.insertSome(rows...), []bool{true, true, false})
		w.same("stored name", w.get("a").Name, "first")
	}},
	{"a taken key does not end the transaction", func(w *world) {
		w.insert(newThing("a"))
		w.tx(func(tx driver.Tx) error {
			if _, err := w.things.Insert(w.ctx, tx, newThing("a")); err != nil {
				return err
			}
			_, err := w.things.Insert(w.ctx, tx, newThing("b"))
			return err
		})
		w.same("keys", keysOf(w.all()), []string{"a", "b"})
	}},
	{"a copy of a row keeps its version, and gets its ID", insertCopies},
	{"a large call is answered in the order of its rows", insertMany},
	{"large calls that met no taken key are no promise for the next", insertAfterStreak},
	{"no rows are no work", func(w *world) {
		w.same("answers", w.insertSome(), []bool(nil))
		w.tx(func(tx driver.Tx) error {
			inserted, err := tx.Insert(w.ctx, &w.things.Schema, nil)
			w.same("answers of the verb", len(inserted), 0)
			return err
		})
	}},
	{"what the caller does to its row afterwards changes nothing", func(w *world) {
		row := newThing("a")
		row.Data, row.Tags, row.Labels = []byte("data"), []string{"tag"}, map[string]string{"k": "v"}
		w.insert(row)
		row.Data[0], row.Tags[0], row.Labels["k"] = 'x', "x", "x"
		got := w.get("a")
		w.same("data", string(got.Data), "data")
		w.same("tags", got.Tags, []string{"tag"})
		got.Data[0], got.Tags[0], got.Labels["k"] = 'y', "y", "y"
		w.same("labels", w.get("a").Labels, map[string]string{"k": "v"})
		w.same("data", string(w.get("a").Data), "data")
	}},
	{"a field without a column is not stored", func(w *world) {
		row := newThing("a")
		row.Draft = "scribbled"
		w.insert(row)
		w.same("draft", w.get("a").Draft, "")
	}},
}}

func insertGivesID(w *world) {
	rows := newThings("a", "b")
	for _, r := range rows {
		r.ID, r.Version = 77, 5
	}
	w.insert(rows...)
	if rows[0].ID == rows[1].ID {
		w.Errorf("both rows got the id %d", rows[0].ID)
	}
	for _, r := range rows {
		w.same("version", r.Version, int64(1))
		w.same("stored row", w.get(r.Key), r)
	}
}

func insertMany(w *world) {
	const n = 1201 // more parameters than a statement may have, were each value one
	var even, rows []*thing
	want := make([]bool, n)
	for i := range n {
		key := fmt.Sprintf("key %d", (i*577)%n)
		rows = append(rows, newThing(key))
		if i%2 == 0 {
			even = append(even, newThing(key))
		}
		want[i] = i%2 == 1
	}
	w.insert(even...)
	w.same("answers", w.insertSome(rows...), want)
	ids := map[int64]string{}
	for _, r := range rows {
		if r.ID != 0 {
			ids[r.ID] = r.Key
		}
	}
	w.same("number of new ids", len(ids), n/2)
	for _, r := range w.all() {
		if key, ok := ids[r.ID]; ok && key != r.Key {
			w.Fatalf("the row %q was told the id of %q", key, r.Key)
		}
	}
}

// insertAfterStreak gives an adapter reason to expect that no key is taken.
func insertAfterStreak(w *world) {
	const n = 70
	number := func(call, i int) string { return fmt.Sprintf("%d %d", call, i) }
	for call := range 6 {
		rows := make([]*thing, n)
		for i := range rows {
			rows[i] = newThing(number(call, i))
		}
		w.insert(rows...)
	}
	taken := w.get(number(0, 7))
	rows := make([]*thing, n)
	want := make([]bool, n)
	for i := range rows {
		rows[i], want[i] = newThing(number(6, i)), true
	}
	rows[7], want[7] = newThing(taken.Key), false
	rows[7].Name = "other"
	rows[9], want[9] = newThing(rows[8].Key), false
	runs := 0
	w.tx(func(tx driver.Tx) error {
		runs++
		if _, err := w.things.Insert(w.ctx, tx, newThing("before")); err != nil {
			return err
		}
		got, err := w.things.Insert(w.ctx, tx, rows...)
		if err == nil {
			w.same("answers", got, want)
		}
		return err
	})
	if runs > 2 {
		w.Errorf("the transaction ran %d times", runs)
	}
	w.same("the row whose key was taken", w.get(taken.Key), taken)
	w.same("number of rows", len(w.all()), 7*n-2+1)
}

// insertCopies has a small call and a large one, which adapters write differently.
func insertCopies(w *world) {
	for _, n := range []int{2, 300} {
		w.tx(func(tx driver.Tx) error {
			rows, want := make([]driver.Row, n), make([]int64, n)
			for i := range rows {
				row := newThing(fmt.Sprintf("%d-%04d", n, i))
				want[i] = int64(7 + i%3)
				row.ID, row.Version = 9_000_000, want[i]
				rows[i] = row
			}
			inserted, err := tx.Insert(w.ctx, driver.Copying(&w.things.Schema), rows)
			if err != nil {
				return err
			}
			for i, row := range rows {
				if rec := driver.RecordOf(row); !inserted[i] || rec.Version != want[i] || rec.ID == 9_000_000 {
					w.Errorf("row %d of %d: inserted %t, version %d, id %d", i, n, inserted[i], rec.Version, rec.ID)
				}
			}
			return nil
		})
	}
	row := w.get("300-0001")
	w.same("stored version", row.Version, int64(8))
	row.Name = "changed"
	w.tx(func(tx driver.Tx) error { return w.things.Save(w.ctx, tx, row) })
	w.same("version after a change", w.get("300-0001").Version, int64(9))
}
