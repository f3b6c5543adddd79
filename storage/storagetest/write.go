package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
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
	{"who rewrites a fixed column changes that one too, and no other", func(w *world) {
		stored := newThing("a")
		stored.Origin, stored.Scope, stored.Lane = "here", "one", 1
		w.insert(stored)
		row := copyOf(stored)
		row.Origin, row.Scope, row.Key, row.Lane, row.Name = "there", "two", "b", 2, "new"
		rewriting := w.things.Rewriting("origin")
		w.same("stale", w.swap(func(tx driver.Tx) error { return rewriting.Save(w.ctx, tx, row) }), []int(nil))
		stored.Origin, stored.Name, stored.Version = "there", "new", 2
		w.same("stored", w.all()[0], stored)
		stale := copyOf(stored)
		stale.Origin, stale.Version = "elsewhere", 1
		w.same("stale", w.swap(func(tx driver.Tx) error { return rewriting.Save(w.ctx, tx, stale) }), []int{0})
		w.same("stored", w.all()[0], stored)
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
		w.tx(func(tx driver.Tx) error {
			err := w.things.Save(w.ctx, tx, row)
			w.is("Save", err, driver.ErrStale)
			if e := (*driver.StaleError)(nil); !errors.As(err, &e) || e.Table != w.things.Name {
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
	r.Kind, r.Status, r.DueOn, r.LeaseExpiresOn = "type", done, at(3), at(4)
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

var extendTheme = theme{name: "extend", sentences: []sentence{
	{"Extend moves the lease of held rows to until", func(w *world) {
		w.insert(newThings("a", "b")...)
		rows := w.claim(allDue())
		w.same("lost", w.extend(base.Add(time.Hour), rows...), []bool{false, false})
		w.same("lease", w.get("b").LeaseExpiresOn, base.Add(time.Hour))
		w.same("rows claimed", len(w.claim(later("u"))), 0)
	}},
	{"the version stays, and so does every other column", func(w *world) {
		w.insert(newThing("a"))
		w.claim(due("t"))
		want := w.get("a")
		w.extend(base.Add(time.Hour), copyOf(want))
		want.LeaseExpiresOn = base.Add(time.Hour)
		w.same("stored", w.get("a"), want)
	}},
	{"another writer's version does not cost the lease", func(w *world) {
		w.insert(newThing("a"))
		row := w.claim(due("t"))[0]
		other := w.get("a")
		other.Note = "support was here"
		w.same("stale", w.save(other), []int(nil))
		w.same("lost", w.extend(base.Add(time.Hour), row), []bool{false})
		w.same("lease", w.get("a").LeaseExpiresOn, base.Add(time.Hour))
	}},
	{"a lease under another ClaimToken is lost", func(w *world) {
		w.insert(newThings("a", "b")...)
		first := w.claim(allDue())
		second := w.claim(later("u"))
		w.same("lost by the first", w.extend(base.Add(time.Hour), first...), []bool{true, true})
		w.same("lease", w.get("a").LeaseExpiresOn, second[0].LeaseExpiresOn)
	}},
	{"a lease that is gone is lost", func(w *world) {
		w.insert(newThings("a", "b", "c")...)
		rows := w.claim(allDue())
		settled := copyOf(rows[0])
		settled.LeaseExpiresOn, settled.Status = time.Time{}, done
		w.save(settled)
		w.remove(copyOf(rows[1]))
		w.same("lost", w.extend(base.Add(time.Hour), rows...), []bool{true, true, false})
		w.same("lease", w.get("a").LeaseExpiresOn, time.Time{})
	}},
	{"a row that was never claimed has no lease to extend", func(w *world) {
		row := newThing("a")
		w.insert(row)
		w.same("lost", w.extend(base.Add(time.Hour), row), []bool{true})
		w.same("lease", w.get("a").LeaseExpiresOn, time.Time{})
	}},
}}

var deleteTheme = theme{name: "delete", sentences: []sentence{
	{"Delete tells which were stale or gone", func(w *world) {
		rows := newThings("a", "b", "c")
		w.insert(rows...)
		w.save(copyOf(rows[0]))
		w.remove(copyOf(rows[2]))
		w.same("stale", w.remove(rows...), []int{0, 2})
		w.same("keys", keysOf(w.all()), []string{"a"})
	}},
	{"a row twice in one call is deleted once", func(w *world) {
		row := newThing("a")
		w.insert(row)
		w.same("stale", w.remove(row, row), []int{1})
	}},
	{"a deleted key may be inserted anew", func(w *world) {
		row := newThing("a")
		w.insert(row)
		old := copyOf(row)
		w.remove(row)
		w.insert(newThing("a"))
		w.same("version", w.get("a").Version, int64(1))
		if w.get("a").ID == old.ID {
			w.Errorf("the id %d was given again, so that an old copy would pass for the new row", old.ID)
		}
	}},
}}
