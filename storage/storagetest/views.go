package storagetest

import (
	"context"

	"github.com/belfry-go/belfry/storage/driver"
)

var viewTheme = theme{name: "views", sentences: []sentence{
	{"a view reads what was committed, by every verb that reads", func(w *world) {
		w.insert(newThings("a", "b")...)
		w.is("View", w.store.View(w.ctx, func(from driver.Reader) error {
			found, err := w.things.Find(w.ctx, from, "", driver.Query{Limit: 10})
			w.is("Find", err, nil)
			w.same("found", keysOf(found), []string{"a", "b"})
			places, err := w.things.GetMany(w.ctx, from, []driver.ScopedKey{{Key: "b"}})
			w.is("GetMany", err, nil)
			w.same("got", len(places), 1)
			n, err := w.things.Count(w.ctx, from, "", 10)
			w.is("Count", err, nil)
			w.same("counted", n, 2)
			groups, err := w.things.CountBy(w.ctx, from, "", driver.CountBy{By: []string{"scope"}, OrderBy: "id", Limit: 10})
			w.is("Tally", err, nil)
			w.same("groups", len(groups), 1)
			w.same("store", from.Store() == w.store, true)
			return nil
		}), nil)
	}},
	{"a view shows one moment, and holds up nobody who writes", func(w *world) {
		w.insert(newThing("a"))
		written := make(chan error, 1)
		began := false
		w.is("View", w.store.View(w.ctx, func(from driver.Reader) error {
			w.same("rows", w.counted(from), 1)
			if !began {
				began = true
				go func() { written <- w.add("b") }()
				if w.h.Alone == "" {
					w.is("InTx beside it", await(w, "a transaction beside a view", written), nil)
				}
			}
			w.same("rows after a commit", w.counted(from), 1)
			return nil
		}), nil)
		if w.h.Alone != "" {
			w.is("InTx after it", await(w, "a transaction after a view", written), nil)
		}
		w.same("rows in the end", w.count("", 10), 2)
	}},
	{"a view waits for no transaction, and sees nothing of it", func(w *world) {
		if w.h.Alone != "" {
			w.Skipf("declared by the harness: %s", w.h.Alone)
		}
		w.tx(func(tx driver.Tx) error {
			if _, err := w.things.Insert(w.ctx, tx, newThing("a")); err != nil {
				return err
			}
			seen := make(chan int, 1)
			go func() { seen <- w.viewed() }()
			w.same("rows seen", await(w, "a view beside a transaction", seen), 0)
			return nil
		})
	}},
	{"a view gives back what its function does", func(w *world) {
		w.is("View", w.store.View(w.ctx, func(driver.Reader) error { return errRefused }), errRefused)
	}},
	{"a view ends with its context, and with its function", func(w *world) {
		ctx, end := context.WithCancel(w.ctx)
		var kept driver.Reader
		err := w.store.View(ctx, func(from driver.Reader) error {
			kept = from
			end()
			_, err := w.things.Count(ctx, from, "", 1)
			return err
		})
		w.is("View", err, context.Canceled)
		if _, err := w.things.Count(w.ctx, kept, "", 1); err == nil {
			w.Error("a verb worked after the end of its view")
		}
		w.is("View of an ended context", w.store.View(ctx, func(driver.Reader) error { return nil }), context.Canceled)
	}},
}}

// add inserts a row in a transaction of its own.
func (w *world) add(key string) error {
	return w.store.InTx(w.ctx, func(tx driver.Tx) error {
		_, err := w.things.Insert(w.ctx, tx, newThing(key))
		return err
	})
}

func (w *world) counted(from driver.Reader) int {
	w.Helper()
	n, err := w.things.Count(w.ctx, from, "", 10)
	w.is("Count", err, nil)
	return n
}

// viewed counts in a view of its own.
func (w *world) viewed() (n int) {
	err := w.store.View(w.ctx, func(from driver.Reader) (err error) {
		n, err = w.things.Count(w.ctx, from, "", 10)
		return err
	})
	if err != nil {
		return -1
	}
	return n
}
