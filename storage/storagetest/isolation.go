package storagetest

import (
	"errors"

	"github.com/belfry-go/belfry/storage"
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
		stores := []storage.Store{w.store}
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
func (w *world) beside(other storage.Store, err error, check func(seen int)) {
	w.Helper()
	counted := make(chan int, 1)
	begun := false
	got := w.store.InTx(w.ctx, func(tx storage.Tx) error {
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
