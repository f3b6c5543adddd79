package storagetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

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
		w.same("next", w.next(c, base), time.Time{})
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
