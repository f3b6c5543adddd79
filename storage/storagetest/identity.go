package storagetest

import (
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// spellings are keys that some database or driver might take for one another,
// or for syntax.
var spellings = []string{
	"a", "A", "\u00e4", "a\u0308", "\u00c4", "ss", "\u00df", "i", "I", "\u0130", "\u0131",
	" a", "a ", "a\t", "a\n", "a\r\n", "a\x1fb", "a\x01", "a\u200b", "\ufeffa", "\U0001F514", "\U0001F515",
	"%", "_", "a%", "'", "''", `"`, `\`, `\\`, `\x41`, "{", "}", "{a,b}", "NULL", "null", "a,b", "a:b",
	"$1", "?", ":a", "0", "00", "0.0", "-0", "1e3", "true", "(a)", "[a]", "a;--", "/", "../a",
}

var identityTheme = theme{name: "identity", sentences: []sentence{
	{"keys are compared byte by byte", func(w *world) {
		w.insert(newThings(spellings...)...)
		for _, r := range w.insertSome(newThings(spellings...)...) {
			w.same("inserted again", r, false)
		}
		for _, key := range spellings {
			w.same("key", w.get(key).Key, key)
			w.same("found", w.where(storage.In("key", []string{key})), []string{key})
		}
	}},
	{"keys are ordered byte by byte", func(w *world) {
		w.insert(newThings(spellings...)...)
		want := slices.Sorted(slices.Values(spellings))
		got := keysOf(w.find("", storage.Query{OrderBy: "key", Limit: 100}))
		w.same("order", got, want)
		for i, key := range want {
			w.same("keys below", len(w.where(storage.Less("key", key))), i)
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
		w.tx(func(tx storage.Tx) error {
			_, err := w.things.Get(w.ctx, tx, "", "b")
			w.is("Get", err, storage.ErrNotFound)
			return nil
		})
	}},
}}

var scopeTheme = theme{name: "scopes", sentences: []sentence{
	{"equal keys in two scopes never meet", scopesNeverMeet},
	{"scopes are compared byte by byte", func(w *world) {
		for _, scope := range spellings {
			w.insert(scoped(storage.Scope(scope), "a"))
		}
		for _, scope := range spellings {
			rows := w.find(storage.Scope(scope), storage.Query{Limit: 10})
			if len(rows) != 1 || rows[0].Scope != storage.Scope(scope) {
				w.Errorf("scope %q has %d rows", scope, len(rows))
			}
		}
	}},
	{"AnyScope reads across tenants", func(w *world) {
		w.insert(scoped("", "a"), scoped("one", "a"), scoped("two", "b"))
		w.same("rows", len(w.find(storage.AnyScope, storage.Query{Limit: 10})), 3)
		w.same("rows named a", len(w.find(storage.AnyScope, storage.Query{Where: []storage.Cond{storage.Eq("key", "a")}, Limit: 10})), 2)
		w.same("count", w.count(storage.AnyScope, 10), 3)
		w.same("count of one", w.count("one", 10), 1)
	}},
	{"no row has AnyScope", func(w *world) {
		w.refuses(scoped(storage.AnyScope, "a"), "scope")
	}},
}}

func scoped(scope storage.Scope, key string) *thing {
	r := newThing(key)
	r.Scope = scope
	return r
}

func scopesNeverMeet(w *world) {
	w.insert(scoped("one", "a"), scoped("two", "a"), scoped("", "a"))
	one := w.find("one", storage.Query{Where: []storage.Cond{storage.Eq("key", "a")}, Limit: 10})
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
