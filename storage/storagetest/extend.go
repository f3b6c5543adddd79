package storagetest

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

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
	{"a heartbeat does not make the holder's save stale", func(w *world) {
		w.insert(newThing("a"))
		row := w.claim(due("t"))[0]
		w.extend(base.Add(time.Hour), row)
		w.same("stale", w.save(row), []int(nil))
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
	{"an expired lease that nobody took over is extended", func(w *world) {
		w.insert(newThing("a"))
		row := w.claim(due("t"))[0]
		w.same("lost", w.extend(base.Add(time.Hour), row), []bool{false})
		w.same("lost after it expired", w.extend(base.Add(2*time.Hour), row), []bool{false})
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
	{"Delete removes rows whose stored version is the row's", func(w *world) {
		rows := newThings("a", "b", "c")
		w.insert(rows...)
		w.same("stale", w.remove(rows[0], rows[2]), []int(nil))
		w.same("keys", keysOf(w.all()), []string{"b"})
	}},
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
	{"a deleted row is not claimed", func(w *world) {
		row := newThing("a")
		w.insert(row)
		w.remove(row)
		w.same("rows", len(w.claim(due("t"))), 0)
		w.same("rows found", w.count(storage.AnyScope, 10), 0)
	}},
}}
