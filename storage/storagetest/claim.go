package storagetest

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

var claimTheme = theme{name: "claim", sentences: []sentence{
	{"Claim takes rows with DueOn at or before Now", func(w *world) {
		rows := newThings("before", "at", "after")
		rows[0].DueOn, rows[1].DueOn, rows[2].DueOn = at(-1), at(0), at(1)
		w.insert(rows...)
		w.same("keys", keysOf(w.claim(due("t"))), []string{"before", "at"})
	}},
	{"a row without DueOn is never claimed", func(w *world) {
		row := newThing("a")
		row.DueOn = time.Time{}
		w.insert(row)
		w.same("rows", len(w.claim(due("t"))), 0)
	}},
	{"Claim takes free rows of a claimable status", func(w *world) {
		rows := newThings("a", "b", "c", "d")
		rows[1].Status, rows[2].Status, rows[3].Status = done, "", "ready"
		w.insert(rows...)
		c := allDue()
		c.Statuses = []string{ready, ""}
		w.same("keys", keysOf(w.claim(c)), []string{"a", "c"})
		c.Statuses = nil
		w.same("keys of no status", keysOf(w.claim(c)), []string{})
	}},
	{"Claim takes rows of one of Types", func(w *world) {
		w.insert(typed("a", "one"), typed("b", "two"), typed("c", "One"), typed("d", "three"))
		c := due("t")
		c.Types = []string{"one", "three"}
		w.same("keys", keysOf(w.claim(c)), []string{"a", "d"})
	}},
	{"nil Types means all of them", func(w *world) {
		w.insert(typed("a", "one"), typed("b", ""))
		w.same("keys", keysOf(w.claim(due("t"))), []string{"a", "b"})
	}},
	{"no Types means none of them", func(w *world) {
		w.insert(typed("a", "one"))
		c := due("t")
		c.Types = []string{}
		w.same("keys", keysOf(w.claim(c)), []string{})
	}},
	{"Except leaves out the rows of these scopes", func(w *world) {
		w.insert(scoped("", "a"), scoped("one", "a"), scoped("two", "a"))
		c := due("t")
		c.Except = []storage.Scope{"one", "", "three"}
		rows := w.claim(c)
		if len(rows) != 1 || rows[0].Scope != "two" {
			w.Errorf("claimed %d rows", len(rows))
		}
	}},
	{"ExceptTypes leaves out the rows of one Type in one scope", func(w *world) {
		for _, scope := range []storage.Scope{"", "one", "ÜÜ", "2"} {
			for _, name := range []string{"", "a", "1:a", "Üa"} {
				r := typed("key of "+name, name)
				r.Scope = scope
				w.insert(r)
			}
		}
		c := due("t")
		c.ExceptTypes = []storage.ScopedType{{Scope: "one", Type: "a"}, {Scope: "", Type: ""}, {Scope: "ÜÜ", Type: "a"}, {Scope: "2", Type: "gone"}}
		w.same("rows", len(w.claim(c)), 13)
		w.same("the others", len(w.claim(due("u"))), 3)
	}},
	{"ExceptKinds leaves out rows by another column, in every scope or in one", func(w *world) {
		for _, scope := range []storage.Scope{"", "one", "ÜÜ", "2"} {
			for _, origin := range []string{"", "a", "1:a", "Üa"} {
				r := scoped(scope, "key of "+origin)
				r.Origin = origin
				w.insert(r)
			}
		}
		c := due("t")
		c.ExceptKinds = storage.Kinds{Column: "origin", Names: []string{"1:a", "gone"}, Scoped: []storage.ScopedType{{Scope: "one", Type: "a"}, {Scope: "", Type: ""}, {Scope: "ÜÜ", Type: "a"}}}
		w.same("rows", len(w.claim(c)), 9)
		w.same("the others", len(w.claim(due("u"))), 7)
	}},
	{"Claim takes rows of all scopes", func(w *world) {
		w.insert(scoped("", "a"), scoped("one", "a"), scoped("two", "a"))
		w.same("rows", len(w.claim(due("t"))), 3)
	}},
	{"each gets Version+1, the lease, the token and the busy status", claimMarks},
	{"an empty Busy leaves the status alone", func(w *world) {
		w.insert(newThing("a"))
		c := due("t")
		c.Busy = ""
		w.same("status", w.claim(c)[0].Status, ready)
		w.same("stored status", w.get("a").Status, ready)
	}},
	{"a held row is not claimed", func(w *world) {
		w.insert(newThing("a"))
		w.same("rows", len(w.claim(due("t"))), 1)
		c := due("u")
		c.Statuses = []string{ready, busy}
		w.same("rows of the second claim", len(w.claim(c)), 0)
		w.same("token", w.get("a").ClaimToken, "t")
	}},
	{"a settled row may be claimed again", func(w *world) {
		w.insert(newThing("a"))
		row := w.claim(due("t"))[0]
		row.Status, row.LeaseExpiresOn = ready, time.Time{}
		w.same("stale", w.save(row), []int(nil))
		w.same("kept token", w.get("a").ClaimToken, "t")
		again := w.claim(due("u"))
		w.same("keys", keysOf(again), []string{"a"})
		w.same("abandoned", again[0].Abandoned, false)
	}},
}}

func typed(key, name string) *thing {
	r := newThing(key)
	r.Type = name
	return r
}

func claimMarks(w *world) {
	row := newThing("a")
	row.Name, row.Note, row.Amount, row.Ready, row.SeenOn = "name", "note", 7, true, at(5)
	row.Tags, row.Data, row.Seal = []string{"x"}, []byte{1}, []byte{2}
	w.insert(row, newThing("b"))
	want := copyOf(row)
	want.Version, want.Status, want.ClaimToken, want.LeaseExpiresOn = 2, busy, "t", base.Add(time.Minute)
	c := due("t")
	c.Lanes[0].Limit = 1
	got := w.claim(c)
	w.same("claimed", got, []*thing{want})
	w.same("stored", w.get("a"), want)
	w.same("the other's version", w.get("b").Version, int64(1))
}
