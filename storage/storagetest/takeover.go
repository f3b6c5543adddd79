package storagetest

import (
	"time"

	"github.com/belfry-go/belfry/storage"
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
			row.LeaseExpiresOn, row.Type = base, "one"
			change(row)
			return row
		}
		w.insert(
			held("a", func(*thing) {}),
			held("b", func(r *thing) { r.Type = "two" }),
			held("c", func(r *thing) { r.Scope = "paused" }),
			held("d", func(r *thing) { r.Lane = storage.LaneBulk }),
			held("e", func(r *thing) { r.DueOn = base.Add(time.Hour) }),
			held("f", func(r *thing) { r.DueOn = time.Time{} }),
		)
		c := later("u")
		c.Types, c.Except = []string{"one"}, []storage.Scope{"paused"}
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
