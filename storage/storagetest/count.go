package storagetest

import "github.com/belfry-go/belfry/storage"

var countTheme = theme{name: "count", sentences: []sentence{
	{"Count counts rows of scope for which all conditions hold", func(w *world) {
		w.insert(newThings("a", "b", "c")...)
		w.insert(scoped("one", "a"))
		w.same("all", w.count("", 10), 3)
		w.same("from b on", w.count("", 10, storage.AtLeast("key", "b")), 2)
		w.same("none", w.count("", 10, storage.Eq("key", "x")), 0)
		w.same("of another scope", w.count("two", 10), 0)
	}},
	{"Count counts not further than limit", func(w *world) {
		w.insert(newThings("a", "b", "c")...)
		w.same("limit 2", w.count("", 2), 2)
		w.same("limit 3", w.count("", 3), 3)
		w.same("limit 4", w.count("", 4), 3)
	}},
}}

func (w *world) count(scope storage.Scope, limit int, where ...storage.Cond) (n int) {
	w.Helper()
	w.tx(func(tx storage.Tx) (err error) {
		n, err = w.things.Count(w.ctx, tx, scope, limit, where...)
		return err
	})
	return n
}
