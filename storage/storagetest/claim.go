package storagetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
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
		c.Kinds = []string{"one", "three"}
		w.same("keys", keysOf(w.claim(c)), []string{"a", "d"})
	}},
	{"no Types means none of them", func(w *world) {
		w.insert(typed("a", "one"))
		c := due("t")
		c.Kinds = []string{}
		w.same("keys", keysOf(w.claim(c)), []string{})
	}},
	{"Scopes are the only ones that are claimed", func(w *world) {
		w.insert(scoped("", "a"), scoped("one", "a"), scoped("two", "a"), scoped("three", "a"))
		c := due("t")
		c.Scopes, c.Except = []driver.Scope{"", "two", "three"}, []driver.Scope{"three"}
		w.same("rows", len(w.claim(c)), 2)
		c = due("u")
		c.Scopes = []driver.Scope{}
		w.same("rows of none", len(w.claim(c)), 0)
		w.same("the others", len(w.claim(due("v"))), 2)
	}},
	{"a claim misses nothing among very many rows, be they due at one moment or not", func(w *world) {
		const rows = 16_000
		var want []string
		for first := 0; first < rows; first += 1000 {
			some := make([]*thing, 1000)
			for i := range some {
				n := first + i
				some[i] = typed(fmt.Sprintf("%05d", n), "many")
				some[i].DueOn = at(min(n/4000-4, -2)) // 4,000 at a moment, twice, then 8,000
				if n%3997 == 0 {
					some[i].Kind = "few"
					want = append(want, some[i].Key)
				}
			}
			w.insert(some...)
		}
		c := due("t")
		c.Kinds = []string{"few"}
		w.same("keys", keysOf(w.claim(c)), want)
	}},
	{"Except leaves out the rows of these scopes", func(w *world) {
		w.insert(scoped("", "a"), scoped("one", "a"), scoped("two", "a"))
		c := due("t")
		c.Except = []driver.Scope{"one", "", "three"}
		rows := w.claim(c)
		if len(rows) != 1 || rows[0].Scope != "two" {
			w.Errorf("claimed %d rows", len(rows))
		}
	}},
	{"ExceptKinds leaves out the rows of one Kind in one scope", func(w *world) {
		for _, scope := range []driver.Scope{"", "one", "ÜÜ", "2"} {
			for _, name := range []string{"", "a", "1:a", "Üa"} {
				r := typed("key of "+name, name)
				r.Scope = scope
				w.insert(r)
			}
		}
		c := due("t")
		c.ExceptKinds = []driver.ScopedKind{{Scope: "one", Kind: "a"}, {Scope: "", Kind: ""}, {Scope: "ÜÜ", Kind: "a"}, {Scope: "2", Kind: "gone"}}
		w.same("rows", len(w.claim(c)), 13)
		w.same("the others", len(w.claim(due("u"))), 3)
	}},
	{"ExceptNames leaves out rows by another column, in every scope or in one", func(w *world) {
		for _, scope := range []driver.Scope{"", "one", "ÜÜ", "2"} {
			for _, origin := range []string{"", "a", "1:a", "Üa"} {
				r := scoped(scope, "key of "+origin)
				r.Origin = origin
				w.insert(r)
			}
		}
		c := due("t")
		c.ExceptNames = driver.Names{Column: "origin", Names: []string{"1:a", "gone"}, Scoped: []driver.ScopedKind{{Scope: "one", Kind: "a"}, {Scope: "", Kind: ""}, {Scope: "ÜÜ", Kind: "a"}}}
		w.same("rows", len(w.claim(c)), 9)
		w.same("the others", len(w.claim(due("u"))), 7)
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
	r.Kind = name
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

var laneTheme = theme{name: "lanes", sentences: []sentence{
	{"Claim takes at most Limit rows of a lane, oldest first", func(w *world) {
		w.insert(newThings("a", "b", "c", "d")...)
		c := allDue()
		c.Lanes[0].Limit = 3
		w.same("keys", keysOf(w.claim(c)), []string{"a", "b", "c"})
		w.same("keys of the next claim", keysOf(w.claim(c)), []string{"d"})
	}},
	{"a limit of zero takes nothing", func(w *world) {
		w.insert(newThing("a"))
		c := due("t")
		c.Lanes[0].Limit = 0
		w.same("rows", len(w.claim(c)), 0)
	}},
	{"rows due at one moment are ordered by id", func(w *world) {
		rows := newThings("d", "b", "c", "a")
		for _, r := range rows {
			r.DueOn = base
		}
		w.insert(rows...)
		var last int64
		for _, r := range w.claim(due("t")) {
			if r.ID <= last {
				w.Errorf("id %d comes after id %d", r.ID, last)
			}
			last = r.ID
		}
	}},
	{"Claim is ordered by lane as asked, then DueOn and ID", func(w *world) {
		w.insert(inLanes("a1 b-1 c0 d1 e-1 f0")...)
		c := allDue(1, -1, 0)
		w.same("keys", keysOf(w.claim(c)), []string{"a1", "d1", "b-1", "e-1", "c0", "f0"})
	}},
	{"each lane has its own limit", func(w *world) {
		w.insert(inLanes("a0 b0 c0 d1 e1 f1 g-1 h-1")...)
		c := allDue(-1, 0, 1)
		c.Lanes[0].Limit, c.Lanes[1].Limit, c.Lanes[2].Limit = 5, 1, 2
		w.same("keys", keysOf(w.claim(c)), []string{"g-1", "h-1", "a0", "d1", "e1"})
	}},
	{"a lane that is not asked for is left alone", func(w *world) {
		w.insert(inLanes("a0 b1")...)
		w.same("keys", keysOf(w.claim(allDue(1))), []string{"b1"})
		c := allDue()
		c.Lanes = nil
		w.same("keys of no lane", keysOf(w.claim(c)), []string{})
	}},
	{"hosts may add lanes", func(w *world) {
		w.insert(inLanes("a7 b-300 c32000")...)
		w.same("keys", keysOf(w.claim(allDue(7, -300, 32000))), []string{"a7", "b-300", "c32000"})
	}},
	{"a lane is claimed from behind its cursor", claimBehindCursor},
	{"Claim never changes DueOn", func(w *world) {
		w.insert(newThings("a", "b")...)
		w.claim(allDue())
		w.same("due", w.get("b").DueOn, at(1))
	}},
}}

// allDue is a claim a second after base in lanes, by default the normal one.
func allDue(lanes ...int16) driver.Claim {
	c := due("t")
	c.Now = at(1_000_000)
	for i, lane := range lanes {
		c.Lanes = append(c.Lanes[:i], driver.LaneClaim{Lane: lane, Limit: 100})
	}
	return c
}

// inLanes makes rows from words such as "a-1": the key, which ends in the lane.
// They are due in their order.
func inLanes(words string) []*thing {
	rows := newThings(strings.Fields(words)...)
	for _, r := range rows {
		if _, err := fmt.Sscanf(r.Key[1:], "%d", &r.Lane); err != nil {
			panic(err)
		}
	}
	return rows
}

func claimBehindCursor(w *world) {
	rows := newThings("a", "b", "c", "d")
	rows[2].DueOn = rows[1].DueOn // b and c tie
	w.insert(rows...)
	tied := w.find("", driver.Query{Where: []driver.Cond{driver.Eq("due_on", at(1))}, Limit: 10})
	c := allDue()
	c.Lanes[0].After = driver.Cursor{DueOn: at(1), ID: tied[0].ID}
	w.same("behind the first of a tie", keysOf(w.claim(c)), []string{tied[1].Key, "d"})
	c.Lanes[0].After = driver.Cursor{DueOn: at(0), ID: rows[0].ID}
	w.same("behind the first row", keysOf(w.claim(c)), []string{tied[0].Key})
	c.Lanes[0].After = driver.Cursor{}
	w.same("from the start", keysOf(w.claim(c)), []string{"a"})
}
