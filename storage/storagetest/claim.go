package storagetest

import (
	"fmt"
	"strings"
	"sync"
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
	{"nil Types means all of them", func(w *world) {
		w.insert(typed("a", "one"), typed("b", ""))
		w.same("keys", keysOf(w.claim(due("t"))), []string{"a", "b"})
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

var takeOverTheme = theme{name: "take-over", sentences: []sentence{
	{"a lease that ends at Now has expired, one that ends a microsecond later has not", func(w *world) {
		w.insert(newThing("a"))
		w.claim(due("t"))
		c := later("u")
		c.Now = c.Now.Add(-time.Microsecond)
		w.same("rows before", len(w.claim(c)), 0)
		w.same("rows at", len(w.claim(later("u"))), 1)
	}},
	{"an expired lease is taken over whatever the status", func(w *world) {
		row := newThing("a")
		row.Status, row.LeaseExpiresOn, row.ClaimToken = "Elsewhere", base, "t"
		w.insert(row)
		w.same("rows", len(w.claim(due("u"))), 1)
	}},
	{"a lease that ran out behind Expired is left alone, and is not the next", func(w *world) {
		for key, lease := range map[string]int{"long ago": -2, "then": -1, "lately": 0} {
			row := newThing(key)
			row.Status, row.LeaseExpiresOn, row.ClaimToken = busy, base.Add(time.Duration(lease)*time.Hour), "t"
			w.insert(row)
		}
		c := due("u")
		c.Expired = base.Add(-time.Hour)
		w.same("rows", len(w.claim(c)), 2)
		next, err := w.store.Next(w.ctx, &w.things.Schema, c, base)
		w.is("Next", err, nil)
		w.same("next", next.IsZero(), true)
		c.Expired = base.Add(time.Hour)
		w.same("the last one", len(w.claim(c)), 1)
	}},
	{"Abandoned says that an expired lease was taken over", func(w *world) {
		w.insert(newThing("a"))
		w.same("abandoned at first", w.claim(due("t"))[0].Abandoned, false)
		got := w.claim(later("u"))[0]
		w.same("abandoned", got.Abandoned, true)
		w.same("stored", w.get("a"), got)
		got.Status, got.LeaseExpiresOn = ready, time.Time{}
		w.save(got)
		w.same("abandoned after it was settled", w.claim(due("v"))[0].Abandoned, false)
	}},
	{"a take-over raises the version and gives a fresh token and lease", func(w *world) {
		w.insert(newThing("a"))
		w.claim(due("t"))
		got := w.claim(later("u"))[0]
		w.same("version", got.Version, int64(3))
		w.same("token", got.ClaimToken, "u")
		w.same("lease", got.LeaseExpiresOn, base.Add(2*time.Minute))
		w.same("status", got.Status, busy)
	}},
	{"a take-over looks at Types, Except, lanes and DueOn too", func(w *world) {
		held := func(key string, change func(*thing)) *thing {
			row := newThing(key)
			row.LeaseExpiresOn, row.Kind = base, "one"
			change(row)
			return row
		}
		w.insert(
			held("a", func(*thing) {}),
			held("b", func(r *thing) { r.Kind = "two" }),
			held("c", func(r *thing) { r.Scope = "paused" }),
			held("d", func(r *thing) { r.Lane = driver.LaneBulk }),
			held("e", func(r *thing) { r.DueOn = base.Add(time.Hour) }),
			held("f", func(r *thing) { r.DueOn = time.Time{} }),
		)
		c := later("u")
		c.Kinds, c.Except = []string{"one"}, []driver.Scope{"paused"}
		w.same("keys", keysOf(w.claim(c)), []string{"a"})
	}},
	{"the worker whose lease ran out gets ErrStale, and what the other wrote stands", func(w *world) {
		w.insert(newThing("a"), newThing("b"))
		first := w.claim(due("t"))
		second := w.claim(later("u"))
		second[0].Name, second[0].Status, second[0].LeaseExpiresOn = "second", done, time.Time{}
		w.same("stale in the second's save", w.save(second[0]), []int(nil))
		for _, r := range first {
			r.Name, r.Status, r.LeaseExpiresOn = "first", done, time.Time{}
		}
		w.same("stale in the first's save", w.save(first...), []int{0, 1})
		w.same("settled row", w.get("a"), second[0])
		w.same("held row", w.get("b"), second[1])
	}},
}}

var exclusionTheme = theme{name: "exclusion", sentences: []sentence{
	{"rows are claimed by one of many goroutines", func(w *world) {
		w.claimConcurrently(w.store)
	}},
	{"rows are claimed through one of two handles", func(w *world) {
		if w.h.NoSecondHandle != "" {
			w.Skipf("declared by the harness: %s", w.h.NoSecondHandle)
		}
		w.claimConcurrently(w.store, w.in.Second(w.T, ""))
	}},
	{"expired leases are taken over by one of many goroutines", func(w *world) {
		w.insert(newThings("a", "b", "c", "d")...)
		c := allDue()
		w.same("rows", len(w.claim(c)), 4)
		c.Now, c.LeaseUntil = later("").Now, later("").LeaseUntil
		claims := w.race(c, 2, w.store)
		w.same("rows taken over", len(claims), 4)
	}},
	{"of concurrent Saves of one version exactly one is written", func(w *world) {
		w.insert(newThing("a"))
		rows := make([]*thing, 6)
		for n := range rows {
			rows[n] = w.get("a")
			rows[n].Amount = int64(n)
		}
		won := make([]bool, len(rows))
		var group sync.WaitGroup
		for n, row := range rows {
			group.Go(func() { won[n] = w.save(row) == nil })
		}
		group.Wait()
		winners := 0
		for n := range won {
			if won[n] {
				winners++
				w.same("amount", w.get("a").Amount, int64(n))
			}
		}
		w.same("winners", winners, 1)
		w.same("version", w.get("a").Version, int64(2))
	}},
}}

func (w *world) claimConcurrently(stores ...driver.Store) {
	const n = 240
	rows := make([]*thing, n)
	for i := range rows {
		rows[i] = newThing(fmt.Sprint(i))
	}
	w.insert(rows...)
	claims := w.race(due(""), 7, stores...)
	w.same("rows claimed", len(claims), n)
	for _, r := range w.all() {
		w.same("version", r.Version, int64(2))
		w.same("token", r.ClaimToken, claims[r.Key])
	}
}

// race claims with several workers, batch by batch, until nothing is left, and
// gives the token under which each key was claimed.
func (w *world) race(c driver.Claim, batch int, stores ...driver.Store) map[string]string {
	var mu sync.Mutex
	claims := map[string]string{}
	var group sync.WaitGroup
	for n := range 6 {
		group.Go(func() {
			mine := c
			mine.Lanes = []driver.LaneClaim{{Limit: batch}}
			for round := 0; ; round++ {
				mine.Token = fmt.Sprintf("%d/%d", n, round)
				rows := w.on(stores[n%len(stores)]).claim(mine)
				if len(rows) == 0 {
					return
				}
				mu.Lock()
				for _, r := range rows {
					if other, ok := claims[r.Key]; ok {
						w.Errorf("row %s was claimed by %s and by %s", r.Key, other, mine.Token)
					}
					claims[r.Key] = mine.Token
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return claims
}
