package storagetest

import (
	"errors"

	"github.com/belfry-go/belfry/storage"
)

var joinTheme = theme{
	name:    "join",
	missing: func(h Harness) string { return h.NoJoin },
	sentences: []sentence{
		{"what a joined Tx wrote is there when the host commits", func(w *world) {
			w.insert(newThings("a", "b")...)
			w.join(func(host *Host) {
				w.verbs(host.Tx)
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "c"})
			w.same("name", w.get("a").Name, "joined")
		}},
		{"what a joined Tx wrote is gone when the host rolls back", func(w *world) {
			w.insert(newThings("a", "b")...)
			before := w.all()
			w.join(func(host *Host) {
				w.verbs(host.Tx)
				w.is("Rollback", host.Rollback(), nil)
			})
			w.same("rows", w.all(), before)
		}},
		{"Ensure works in a joined Tx and a taken key does not end it", func(w *world) {
			w.insert(newThing("a"))
			w.join(func(host *Host) {
				got, err := w.things.Ensure(w.ctx, host.Tx, rename, newThings("b", "a", "b")...)
				w.is("Ensure", err, nil)
				w.same("outcomes", outcomes(got), []storage.Outcome{storage.Created, storage.Unchanged, storage.Unchanged})
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "b"})
		}},
		{"stale rows are an answer in a joined Tx, not its end", func(w *world) {
			row := newThing("a")
			w.insert(row)
			w.save(copyOf(row))
			w.join(func(host *Host) {
				w.is("Save", w.things.Save(w.ctx, host.Tx, row), storage.ErrStale)
				w.is("Delete", w.things.Delete(w.ctx, host.Tx, row), storage.ErrStale)
				_, err := w.things.Insert(w.ctx, host.Tx, newThing("b"))
				w.is("Insert", err, nil)
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "b"})
		}},
		{"Claim and Extend are ErrJoined and write nothing", func(w *world) {
			w.insert(newThings("a", "b")...)
			held := w.claim(due("t"))
			before := w.all()
			w.join(func(host *Host) {
				_, err := w.things.Claim(w.ctx, host.Tx, allDue())
				w.is("Claim", err, storage.ErrJoined)
				w.is("end", errors.Join(host.Rollback()), nil)
			})
			w.join(func(host *Host) {
				_, err := w.things.Extend(w.ctx, host.Tx, at(9), held...)
				w.is("Extend", err, storage.ErrJoined)
				w.is("end", errors.Join(host.Rollback()), nil)
			})
			w.same("rows", w.all(), before)
		}},
		{"a joined Tx tells its store", func(w *world) {
			w.join(func(host *Host) {
				w.same("is the store", host.Tx.Store() == w.store, true)
				w.is("Rollback", host.Rollback(), nil)
			})
		}},
		{"others do not see what the host has not committed", func(w *world) {
			if w.h.NoSecondHandle != "" {
				w.Skipf("declared by the harness: %s", w.h.NoSecondHandle)
			}
			second := w.on(w.in.Second(w.T, ""))
			w.join(func(host *Host) {
				_, err := w.things.Insert(w.ctx, host.Tx, newThing("a"))
				w.is("Insert", err, nil)
				_, err = second.store.Next(w.ctx, &w.things.Schema, due("t"), base)
				w.is("Next", err, nil)
				w.same("due elsewhere", second.next(due("t"), base).IsZero(), true)
				w.is("Commit", host.Commit(), nil)
			})
			w.same("due elsewhere", second.next(due("t"), base), base)
		}},
	},
}

func (w *world) join(f func(host *Host)) {
	w.Helper()
	host := w.in.Begin(w.T)
	ended := false
	defer func() {
		if !ended {
			_ = host.Rollback() // f gave up
		}
	}()
	f(host)
	ended = true
}

// verbs does everything that a joined Tx can to the rows a and b.
func (w *world) verbs(tx storage.Tx) {
	w.Helper()
	inserted, err := w.things.Insert(w.ctx, tx, newThings("a", "c")...)
	w.is("Insert", err, nil)
	w.same("answers", inserted, []bool{false, true})
	rows, err := w.things.Find(w.ctx, tx, "", storage.Query{OrderBy: "key", Limit: 10})
	w.is("Select", err, nil)
	w.same("keys", keysOf(rows), []string{"a", "b", "c"})
	rows[0].Name = "joined"
	w.is("Update", w.things.Save(w.ctx, tx, rows[0]), nil)
	w.is("Delete", w.things.Delete(w.ctx, tx, rows[1]), nil)
	n, err := w.things.Count(w.ctx, tx, "", 10)
	w.is("Count", err, nil)
	w.same("count", n, 2)
}
