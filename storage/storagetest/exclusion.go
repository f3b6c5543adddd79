package storagetest

import (
	"fmt"
	"sync"

	"github.com/belfry-go/belfry/storage"
)

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

func (w *world) claimConcurrently(stores ...storage.Store) {
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
func (w *world) race(c storage.Claim, batch int, stores ...storage.Store) map[string]string {
	var mu sync.Mutex
	claims := map[string]string{}
	var group sync.WaitGroup
	for n := range 6 {
		group.Go(func() {
			mine := c
			mine.Lanes = []storage.LaneClaim{{Limit: batch}}
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
