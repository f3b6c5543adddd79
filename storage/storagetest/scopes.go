package storagetest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
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
	{"an empty key is refused, and one beyond 2250 bytes", func(w *world) {
		w.refuses(newThing(""), "key")
		w.refuses(newThing(dense(2251)), "key")
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

// dense is a text of n bytes that no index can compress.
func dense(n int) string {
	text := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	return base64.StdEncoding.EncodeToString(text)[:n]
}

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
	{"GetMany reads rows of several scopes by their keys", getsMany},
	{"GetMany reads each row once, and columns if they are named", func(w *world) {
		rows := []*thing{scoped("one", "a"), scoped("two", "a")}
		for _, r := range rows {
			r.Name, r.Amount = "Ann", 3
		}
		w.insert(rows...)
		one, two := driver.ScopedKey{Scope: "one", Key: "a"}, driver.ScopedKey{Scope: "two", Key: "a"}
		for _, places := range [][]driver.ScopedKey{{one, one}, {two, one, two}} {
			for _, r := range w.many(places, "amount") {
				w.same("amount and name", []any{r.Amount, r.Name, r.Version}, []any{int64(3), "", int64(0)})
			}
			w.same("rows", len(w.many(places)), len(places)-1)
		}
		w.same("whole", w.many([]driver.ScopedKey{one, two})[two], rows[1])
	}},
	{"GetMany passes over keys that no row can have", func(w *world) {
		w.insert(scoped("one", "a"), scoped("two", "a"))
		w.same("none", len(w.many([]driver.ScopedKey{{Scope: "one", Key: "\x00"}, {Scope: "two", Key: "\xff"}})), 0)
		w.same("one", len(w.many([]driver.ScopedKey{{Scope: "one", Key: "a\x00"}, {Scope: "two", Key: "a"}})), 1)
		w.same("nothing asked", len(w.many(nil)), 0)
	}},
	{"GetMany takes thousands of places", func(w *world) {
		w.insert(scoped("one", "3"), scoped("two", "3000"), scoped("two", "3"))
		var places []driver.ScopedKey
		for i := range 4000 {
			places = append(places, driver.ScopedKey{Scope: []driver.Scope{"one", "two"}[i%2], Key: fmt.Sprint(i)})
		}
		w.same("rows", len(w.many(places)), 1)
	}},
	{"a row is not written to a scope that cannot be stored", func(w *world) {
		w.refuses(scoped("\x00any", "a"), "scope")
		w.refuses(scoped(driver.Scope(dense(201)), "a"), "scope")
	}},
	{"a scope of 200 bytes goes with a key of 2250, and with a kind of 200", func(w *world) {
		r := scoped(driver.Scope(dense(200)), dense(2250))
		r.Kind = dense(200)
		w.insert(r)
		w.same("inserted again", w.insertSome(scoped(r.Scope, r.Key)), []bool{false})
		w.same("found", w.find(r.Scope, driver.Query{Where: []driver.Cond{driver.Eq("key", r.Key)}, Limit: 1}), []*thing{r})
	}},
	{"such a scope is not read either, and the transaction goes on", noSuchScope},
}}

// noSuchScope reads scopes with which a statement would fail on PostgreSQL, and
// would end the transaction.
func noSuchScope(w *world) {
	w.insert(scoped("", "a"), scoped("one", "a"))
	for _, scope := range []driver.Scope{"\x00", "\x00any", "one\x00", "\xff", driver.Scope(dense(201))} {
		w.tx(func(tx driver.Tx) error {
			_, found := w.things.Find(w.ctx, tx, scope, driver.Query{Limit: 10})
			_, got := w.things.Get(w.ctx, tx, scope, "a")
			_, counted := w.things.Count(w.ctx, tx, scope, 10)
			_, tallied := w.things.CountBy(w.ctx, tx, scope, driver.CountBy{OrderBy: "id", Limit: 10})
			_, many := w.things.GetMany(w.ctx, tx, []driver.ScopedKey{{Scope: "one", Key: "a"}, {Scope: scope, Key: "a"}})
			for what, err := range map[string]error{"Find": found, "Get": got, "GetMany": many, "Count": counted, "Tally": tallied} {
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

// getsMany tells pairs apart that only look alike.
func getsMany(w *world) {
	at := func(scope driver.Scope, key string) driver.ScopedKey { return driver.ScopedKey{Scope: scope, Key: key} }
	var stored []driver.ScopedKey
	for _, text := range []string{"a", "A", "a,b", `a"b`, "a\\b", "{}", "NULL", "?", "\u00e4", "<\u2028>"} {
		stored = append(stored, at("one", text), at(driver.Scope("s"+text), "key"))
	}
	for _, p := range stored {
		w.insert(scoped(p.Scope, p.Key))
	}
	found := w.many(append(stored, at("", "key"), at("one", "key"), at("sa", "a"), at("SA", "key")))
	w.same("rows", len(found), len(stored))
	for _, p := range stored {
		if r := found[p]; r == nil || r.Scope != p.Scope || r.Key != p.Key {
			w.Errorf("at %q, %q is %v", p.Scope, p.Key, r)
		}
	}
	w.same("rows of one scope", len(w.many([]driver.ScopedKey{at("one", "a"), at("one", "A"), at("one", "nobody")})), 2)
}

// many gives the rows at places.
func (w *world) many(places []driver.ScopedKey, columns ...string) (rows map[driver.ScopedKey]*thing) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		rows, err = w.things.GetMany(w.ctx, tx, places, columns...)
		return err
	})
	return rows
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
