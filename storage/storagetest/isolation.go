package storagetest

import (
	"errors"

	"github.com/belfry-go/belfry/storage/driver"
)

var isolationTheme = theme{name: "isolation", sentences: []sentence{
	{"what is not committed is not seen by others", func(w *world) {
		w.beside(w.store, errRefused, func(seen int) { w.same("rows seen", seen, 0) })
		w.same("rows in the end", w.count("", 10), 0)
	}},
	{"others see all of a transaction or nothing", func(w *world) {
		w.beside(w.store, nil, func(seen int) { w.same("rows seen are none or all", seen == 0 || seen == 2, true) })
		w.same("rows in the end", w.count("", 10), 2)
	}},
	{"what is not committed is not seen through another handle", func(w *world) {
		if w.h.NoSecondHandle != "" {
			w.Skipf("declared by the harness: %s", w.h.NoSecondHandle)
		}
		second := w.in.Second(w.T, "")
		w.beside(second, errRefused, func(seen int) { w.same("rows seen", seen, 0) })
		w.beside(second, nil, func(seen int) { w.same("rows seen are none or all", seen == 0 || seen == 2, true) })
		w.same("rows in the end", w.on(second).count("", 10), 2)
	}},
	{"a committed row is seen by whoever begins afterwards", func(w *world) {
		stores := []driver.Store{w.store}
		if w.h.NoSecondHandle == "" {
			stores = append(stores, w.in.Second(w.T, ""))
		}
		for _, from := range stores {
			for _, to := range stores {
				row := w.on(from).firstOrNew()
				row.Amount++
				w.same("stale", w.on(from).save(row), []int(nil))
				w.same("amount", w.on(to).get("a").Amount, row.Amount)
			}
		}
	}},
}}

func (w *world) firstOrNew() *thing {
	w.Helper()
	return w.ensure(unchanged, newThing("a"))[0].Row
}

// beside counts rows through other while a transaction has written two and then
// ends with err. A store that lets nobody in meanwhile counts afterwards.
func (w *world) beside(other driver.Store, err error, check func(seen int)) {
	w.Helper()
	counted := make(chan int, 1)
	begun := false
	got := w.store.InTx(w.ctx, func(tx driver.Tx) error {
		_, inserted := w.things.Insert(w.ctx, tx, newThings("one", "two")...)
		if !begun {
			begun = true
			go func() { counted <- w.on(other).count("", 10) }()
		}
		return errors.Join(inserted, err)
	})
	w.is("InTx", got, err)
	check(await(w, "count beside a transaction", counted))
}

var joinTheme = theme{
	name:    "join",
	missing: func(h Harness) string { return h.NoJoin },
	sentences: []sentence{
		{"what a joined Tx wrote is there when the host commits", func(w *world) {
			w.insert(newThings("a", "b")...)
			w.join(func(host *Host) {
				everyVerb(w, host.Tx)
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "c"})
			w.same("name", w.get("a").Name, "joined")
		}},
		{"what a joined Tx wrote is gone when the host rolls back", func(w *world) {
			w.insert(newThings("a", "b")...)
			before := w.all()
			w.join(func(host *Host) {
				everyVerb(w, host.Tx)
				w.is("Rollback", host.Rollback(), nil)
			})
			w.same("rows", w.all(), before)
		}},
		{"Ensure works in a joined Tx and a taken key does not end it", func(w *world) {
			w.insert(newThing("a"))
			w.join(func(host *Host) {
				got, err := w.things.Ensure(w.ctx, host.Tx, rename, newThings("b", "a", "b")...)
				w.is("Ensure", err, nil)
				w.same("outcomes", outcomes(got), []driver.Outcome{driver.Created, driver.Unchanged, driver.Unchanged})
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "b"})
		}},
		{"stale rows are an answer in a joined Tx, not its end", func(w *world) {
			row := newThing("a")
			w.insert(row)
			w.save(copyOf(row))
			w.join(func(host *Host) {
				w.is("Save", w.things.Save(w.ctx, host.Tx, row), driver.ErrStale)
				w.is("Delete", w.things.Delete(w.ctx, host.Tx, row), driver.ErrStale)
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
				w.is("Claim", err, driver.ErrJoined)
				w.is("end", errors.Join(host.Rollback()), nil)
			})
			w.join(func(host *Host) {
				_, err := w.things.Extend(w.ctx, host.Tx, at(9), held...)
				w.is("Extend", err, driver.ErrJoined)
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

// everyVerb does all that a joined Tx can to the rows a and b.
func everyVerb(w *world, tx driver.Tx) {
	w.Helper()
	inserted, err := w.things.Insert(w.ctx, tx, newThings("a", "c")...)
	w.is("Insert", err, nil)
	w.same("answers", inserted, []bool{false, true})
	rows, err := w.things.Find(w.ctx, tx, "", driver.Query{OrderBy: "key", Limit: 10})
	w.is("Select", err, nil)
	w.same("keys", keysOf(rows), []string{"a", "b", "c"})
	rows[0].Name = "joined"
	w.is("Update", w.things.Save(w.ctx, tx, rows[0]), nil)
	w.is("Delete", w.things.Delete(w.ctx, tx, rows[1]), nil)
	n, err := w.things.Count(w.ctx, tx, "", 10)
	w.is("Count", err, nil)
	w.same("count", n, 2)
}
