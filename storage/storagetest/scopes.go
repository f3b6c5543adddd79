package storagetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage/driver"
)

var identityTheme = theme{name: "identity", sentences: []sentence{
	{"keys are compared byte by byte", func(w *world) {
		w.insert(newThings(spellings...)...)
		for _, r := range w.insertSome(newThings(spellings...)...) {
			w.same("inserted again", r, false)
		}
		for _, key := range spellings {
			w.same("key", w.get(key).Key, key)
			w.same("found", w.where(driver.In("key", []string{key})), []string{key})
		}
	}},
	{"keys are ordered byte by byte", func(w *world) {
		w.insert(newThings(spellings...)...)
		want := slices.Sorted(slices.Values(spellings))
		got := keysOf(w.find("", driver.Query{OrderBy: "key", Limit: 100}))
		w.same("order", got, want)
		for i, key := range want {
			w.same("keys below", len(w.where(driver.Less("key", key))), i)
		}
	}},
	{"a key of a thousand bytes is as good as a short one", func(w *world) {
		long := strings.Repeat("0123456789", 100)
		w.insert(newThings(long, long+"a", long+"b", long[1:])...)
		w.same("inserted again", w.insertSome(newThing(long+"b")), []bool{false})
		w.same("key", w.get(long+"a").Key, long+"a")
	}},
	{"an empty key is refused", func(w *world) {
		w.refuses(newThing(""), "key")
	}},
	{"Get of a key that nobody has is ErrNotFound", func(w *world) {
		w.insert(newThing("a"))
		w.tx(func(tx driver.Tx) error {
			_, err := w.things.Get(w.ctx, tx, "", "b")
			w.is("Get", err, driver.ErrNotFound)
			return nil
		})
	}},
}}

var scopeTheme = theme{name: "scopes", sentences: []sentence{
	{"equal keys in two scopes never meet", scopesNeverMeet},
	{"scopes are compared byte by byte", func(w *world) {
		for _, scope := range spellings {
			w.insert(scoped(driver.Scope(scope), "a"))
		}
		for _, scope := range spellings {
			rows := w.find(driver.Scope(scope), driver.Query{Limit: 10})
			if len(rows) != 1 || rows[0].Scope != driver.Scope(scope) {
				w.Errorf("scope %q has %d rows", scope, len(rows))
			}
		}
	}},
	{"Everywhere reads across tenants", func(w *world) {
		w.insert(scoped("", "a"), scoped("one", "a"), scoped("two", "b"))
		w.same("rows", len(w.findEverywhere(driver.Query{Limit: 10})), 3)
		w.same("rows named a", len(w.findEverywhere(driver.Query{Where: []driver.Cond{driver.Eq("key", "a")}, Limit: 10})), 2)
		w.same("count", w.countEverywhere(10), 3)
		w.same("count of one", w.count("one", 10), 1)
	}},
	{"a row is not written to a scope that cannot be stored", func(w *world) {
		w.refuses(scoped("\x00any", "a"), "scope")
	}},
	{"such a scope is not read either, and the transaction goes on", noSuchScope},
}}

// noSuchScope reads scopes with which a statement would fail on PostgreSQL, and
// would end the transaction.
func noSuchScope(w *world) {
	w.insert(scoped("", "a"), scoped("one", "a"))
	for _, scope := range []driver.Scope{"\x00", "\x00any", "one\x00", "\xff"} {
		w.tx(func(tx driver.Tx) error {
			_, found := w.things.Find(w.ctx, tx, scope, driver.Query{Limit: 10})
			_, got := w.things.Get(w.ctx, tx, scope, "a")
			_, counted := w.things.Count(w.ctx, tx, scope, 10)
			_, tallied := w.things.Tally(w.ctx, tx, scope, driver.Tally{OrderBy: "id", Limit: 10})
			for what, err := range map[string]error{"Find": found, "Get": got, "Count": counted, "Tally": tallied} {
				refused := (*driver.ValueError)(nil)
				if !errors.As(err, &refused) || refused.Column != "scope" {
					w.Errorf("%s in %q: %v", what, scope, err)
				}
			}
			_, err := w.things.Get(w.ctx, tx, "one", "a")
			return err
		})
	}
}

func scoped(scope driver.Scope, key string) *thing {
	r := newThing(key)
	r.Scope = scope
	return r
}

func scopesNeverMeet(w *world) {
	w.insert(scoped("one", "a"), scoped("two", "a"), scoped("", "a"))
	one := w.find("one", driver.Query{Where: []driver.Cond{driver.Eq("key", "a")}, Limit: 10})
	w.same("rows of one", len(one), 1)
	one[0].Name = "changed"
	w.same("stale", w.save(one...), []int(nil))
	for _, r := range w.all() {
		w.same("name in scope "+string(r.Scope), r.Name == "changed", r.Scope == "one")
	}
	w.same("stale", w.remove(one...), []int(nil))
	w.same("rows left in one", w.count("one", 10), 0)
	w.same("rows left in two", w.count("two", 10), 1)
}
