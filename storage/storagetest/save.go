package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
)

var saveTheme = theme{name: "save", sentences: []sentence{
	{"Save writes all mutable columns", func(w *world) {
		w.insert(newThings("a", "b")...)
		row := w.get("a")
		fill(row)
		w.same("stale", w.save(row), []int(nil))
		w.same("stored", w.get("a"), row)
		w.same("the other's version", w.get("b").Version, int64(1))
		empty := newThing("a")
		empty.ID, empty.Version, empty.Status, empty.DueOn = row.ID, row.Version, "", time.Time{}
		w.same("stale", w.save(empty), []int(nil))
		w.same("stored", w.get("a"), empty)
	}},
	{"Save never changes a fixed column", func(w *world) {
		stored := newThing("a")
		stored.Origin, stored.Scope, stored.Lane = "here", "one", 1
		w.insert(stored)
		row := copyOf(stored)
		row.Origin, row.Scope, row.Key, row.Lane, row.Name = "there", "two", "b", 2, "new"
		w.same("stale", w.save(row), []int(nil))
		got := w.all()[0]
		stored.Name, stored.Version = "new", 2
		w.same("stored", got, stored)
	}},
	{"Save raises Version by one in the database and in the row", func(w *world) {
		row := newThing("a")
		w.insert(row)
		for version := int64(2); version < 5; version++ {
			w.same("stale", w.save(row), []int(nil))
			w.same("version", row.Version, version)
			w.same("stored version", w.get("a").Version, version)
		}
	}},
	{"stale rows are left as they are in both, and the others are written", saveStale},
	{"a row twice in one call is written once", func(w *world) {
		row := newThing("a")
		w.insert(row)
		other := copyOf(row)
		row.Name, other.Name = "first", "second"
		w.same("stale", w.save(row, other), []int{1})
		w.same("stale with one struct", w.save(row, row), []int{1})
		w.same("name", w.get("a").Name, "first")
		w.same("version", w.get("a").Version, int64(3))
	}},
	{"a row that is gone is stale", func(w *world) {
		rows := newThings("a", "b")
		w.insert(rows...)
		w.remove(copyOf(rows[0]))
		w.same("stale", w.save(rows...), []int{0})
		w.same("keys", keysOf(w.all()), []string{"b"})
	}},
	{"StaleError is an ErrStale and names the table", func(w *world) {
		row := newThing("a")
		w.insert(row)
		row.Version = 7
		w.tx(func(tx storage.Tx) error {
			err := w.things.Save(w.ctx, tx, row)
			w.is("Save", err, storage.ErrStale)
			if e := (*storage.StaleError)(nil); !errors.As(err, &e) || e.Table != w.things.Name {
				w.Errorf("error is %v", err)
			}
			return nil
		})
	}},
	{"a large call is one compare-and-swap for each row", saveMany},
	{"no rows are no work", func(w *world) {
		w.same("stale", w.save(), []int(nil))
		w.same("stale", w.remove(), []int(nil))
		w.same("lost", w.extend(base), []bool(nil))
	}},
}}

// fill gives every mutable column a value that is not its zero.
func fill(r *thing) {
	r.Type, r.Status, r.DueOn, r.LeaseExpiresOn = "type", done, at(3), at(4)
	r.ClaimToken, r.Abandoned = "token", true
	r.Name, r.Note, r.Amount, r.Rank = "name", "note", -5, 9
	r.Ready, r.Checked, r.SeenOn = true, true, at(5)
	r.Tags, r.Labels = []string{"x", "y"}, map[string]string{"k": "v"}
	r.Raw = json.RawMessage(`{"b":1}`)
	r.Data, r.Seal = []byte{0, 255}, []byte("seal")
}

func saveStale(w *world) {
	rows := newThings("a", "b", "c", "d")
	w.insert(rows...)
	theirs := []*thing{copyOf(rows[1]), copyOf(rows[3])}
	for _, r := range theirs {
		r.Name = "theirs"
	}
	w.same("stale in their save", w.save(theirs...), []int(nil))
	for _, r := range rows {
		r.Name = "ours"
	}
	w.same("stale in our save", w.save(rows...), []int{1, 3})
	for i, want := range []string{"ours", "theirs", "ours", "theirs"} {
		w.same("name", w.get(rows[i].Key).Name, want)
		w.same("stored version", w.get(rows[i].Key).Version, int64(2))
		w.same("version in the row is raised", rows[i].Version == 2, want == "ours")
	}
}

func saveMany(w *world) {
	const n = 1201
	rows := make([]*thing, n)
	for i := range rows {
		rows[i] = newThing(fmt.Sprint(i))
	}
	w.insert(rows...)
	var want []int
	for i, r := range rows {
		r.Amount = int64(i)
		if i%3 == 0 {
			r.Version = 4
			want = append(want, i)
		}
	}
	w.same("stale", w.save(rows...), want)
	for _, r := range w.all() {
		i, err := strconv.ParseInt(r.Key, 10, 64)
		if err != nil {
			w.Fatal(err)
		}
		if i%3 == 0 {
			i = 0
		}
		w.same("amount", r.Amount, i)
	}
}
