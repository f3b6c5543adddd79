package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

var pagingTheme = theme{name: "paging", sentences: []sentence{
	{"rows come by id, at most Limit of them", func(w *world) {
		w.insert(newThings("c", "a", "b")...)
		w.lists().ascending(w.all())
		w.same("rows", len(w.find("", driver.Query{Limit: 2})), 2)
		w.same("rows of no limit", len(w.find("", driver.Query{})), 0)
	}},
	{"Columns are read beside id, scope and key, and no others", onlyColumns},
	{"Unordered rows are the same rows, at most Limit of them", func(w *world) {
		w.insert(newThings("c", "a", "b", "d")...)
		some := []driver.Cond{driver.In("key", []string{"b", "c", "d", "nobody"})}
		got := keysOf(w.find("", driver.Query{Where: some, Unordered: true, Limit: 9}))
		slices.Sort(got)
		w.same("keys", got, []string{"b", "c", "d"})
		w.same("rows", len(w.find("", driver.Query{Where: some, Unordered: true, Limit: 2})), 2)
	}},
	{"Desc alone is by id backwards", func(w *world) {
		w.insert(newThings("c", "a", "b")...)
		rows := w.find("", driver.Query{Desc: true, Limit: 10})
		w.same("rows", len(rows), 3)
		slices.Reverse(rows)
		w.lists().ascending(rows)
	}},
	{"OrderBy orders by a column, ties by id in the same direction", func(w *world) {
		w.insert(ranked(3, 1, 2, 1, 3, 1)...)
		for _, desc := range []bool{false, true} {
			got := w.find("", driver.Query{OrderBy: "amount", Desc: desc, Limit: 10})
			w.same("rows", len(got), 6)
			if desc {
				slices.Reverse(got)
			}
			w.same("sorted", slices.IsSortedFunc(got, byAmount), true)
		}
	}},
	{"NULLs sort first, and last when Desc", func(w *world) {
		rows := newThings("a", "b", "c", "d")
		rows[0].Note, rows[0].SeenOn, rows[0].Rank = "x", at(-1), -1
		rows[2].Note, rows[2].SeenOn, rows[2].Rank = "y", at(1), 1
		w.insert(rows...)
		for _, column := range []string{"note", "seen_on", "ranking"} {
			up := keysOf(w.find("", driver.Query{OrderBy: column, Limit: 10}))
			w.same(column, up[2:], []string{"a", "c"})
			down := keysOf(w.find("", driver.Query{OrderBy: column, Desc: true, Limit: 10}))
			w.same(column+" down", down[:2], []string{"c", "a"})
		}
	}},
	{"After continues behind the last row of the page before", func(w *world) {
		w.insert(ranked(5, 1, 2, 1, 5, 1, 3, 1, 4, 2)...)
		for _, desc := range []bool{false, true} {
			for limit := 1; limit <= 4; limit++ {
				w.lists().pages(driver.Query{Desc: desc, Limit: limit}, func(*thing) any { return nil })
				w.lists().pages(driver.Query{OrderBy: "amount", Desc: desc, Limit: limit}, func(r *thing) any { return r.Amount })
				w.lists().pages(driver.Query{OrderBy: "due_on", Desc: desc, Limit: limit}, func(r *thing) any { return r.DueOn })
				w.lists().pages(driver.Query{OrderBy: "name", Desc: desc, Limit: limit}, func(r *thing) any { return r.Name })
				w.lists().pages(driver.Query{OrderBy: "ranking", Desc: desc, Limit: limit}, func(r *thing) any { return r.Rank })
			}
		}
	}},
	{"behind a page that descends come the NULLs too", func(w *world) {
		rows := newThings("low", "none", "high")
		rows[0].Rank, rows[2].Rank = -5, 5
		w.insert(rows...)
		behind := func(r *thing, desc bool) []string {
			return keysOf(w.find("", driver.Query{
				OrderBy: "ranking", Desc: desc, Limit: 10, After: &driver.Position{Value: r.Rank, ID: r.ID},
			}))
		}
		w.same("behind the highest", behind(rows[2], true), []string{"low", "none"})
		w.same("behind the lowest", behind(rows[0], true), []string{"none"})
		w.same("above the lowest", behind(rows[0], false), []string{"high"})
	}},
	{"After goes with conditions and scope", func(w *world) {
		w.insert(ranked(1, 2, 3, 4)...)
		w.insert(scoped("one", "x"))
		got := w.find("", driver.Query{
			Where: []driver.Cond{driver.Less("amount", 4)}, OrderBy: "amount", Limit: 10,
			After: &driver.Position{Value: int64(1), ID: w.find("", driver.Query{Where: all("amount", 1)[:1], Limit: 1})[0].ID},
		})
		w.same("amounts", amounts(got), []int64{2, 3})
	}},
	{"After takes named types and any zone", func(w *world) {
		type number int16
		w.insert(ranked(1, 2)...)
		q := driver.Query{OrderBy: "amount", Limit: 10, After: &driver.Position{Value: number(1), ID: 1 << 40}}
		w.same("amounts", amounts(w.find("", q)), []int64{2})
		q = driver.Query{OrderBy: "due_on", Limit: 10, After: &driver.Position{
			Value: at(1).In(time.FixedZone("", -7200)), ID: 1 << 40,
		}}
		w.same("amounts", amounts(w.find("", q)), []int64{2})
	}},
	{"Walk visits all rows once, in order", func(w *world) {
		w.insert(ranked(3, 1, 2, 1, 3, 1)...)
		w.insert(scoped("one", "x"))
		for _, q := range []driver.Query{{}, {Desc: true}, {OrderBy: "amount"}, {OrderBy: "ranking", Desc: true}, {OrderBy: "key"}, {OrderBy: "due_on"}} {
			for q.Limit = 1; q.Limit <= 7; q.Limit++ {
				w.lists().walks(q)
			}
		}
	}},
	{"Walk goes on behind rows that a visit has changed, and ends with its first error", func(w *world) {
		w.insert(ranked(1, 2, 3, 4)...)
		visits := 0
		err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
			visits = 0
			return w.things.Walk(w.ctx, tx, "", driver.Query{OrderBy: "amount", Limit: 1}, func(page []*thing) error {
				if visits++; visits == 3 {
					return errStop
				}
				page[0].Amount -= 10
				return w.things.Save(w.ctx, tx, page...)
			})
		})
		w.is("Walk", err, errStop)
		w.same("visits", visits, 3)
	}},
	{"Page lists all rows once, and says where there is no more", func(w *world) {
		w.insert(ranked(3, 1, 2, 1, 3, 1)...)
		w.insert(scoped("one", "x"))
		for _, q := range []driver.Query{{}, {Desc: true}, {OrderBy: "id"}, {OrderBy: "due_on"}, {OrderBy: "due_on", Desc: true}} {
			for limit := 1; limit <= 7; limit++ {
				pages, got := 0, map[string]bool{}
				for p := (driver.Page{Limit: limit}); pages == 0 || p.After != "" && pages < 10; pages++ {
					var rows []*thing
					w.tx(func(tx driver.Tx) (err error) {
						rows, p.After, err = w.things.Page(w.ctx, tx, "", p, q)
						return err
					})
					for _, r := range rows {
						got[r.Key] = true
					}
				}
				w.same("rows", len(got), 6)
				w.same("pages", pages, (6+limit-1)/limit)
			}
		}
	}},
	{"Page refuses a place that it never named", func(w *world) {
		w.insert(ranked(1)...)
		for _, c := range []struct{ orderBy, after string }{{"", "\xff"}, {"", "\x00"}, {"id", "1.2"}, {"id", "?"}, {"due_on", "1"}, {"due_on", "-1.2"}} {
			err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
				_, _, err := w.things.Page(w.ctx, tx, "", driver.Page{After: c.after}, driver.Query{OrderBy: c.orderBy})
				return err
			})
			w.is(c.orderBy+" after "+fmt.Sprintf("%q", c.after), err, driver.ErrPage)
		}
	}},
	{"a page may begin at a row that is gone", func(w *world) {
		rows := ranked(1, 2, 3)
		w.insert(rows...)
		w.remove(copyOf(rows[1]))
		got := w.find("", driver.Query{OrderBy: "amount", Limit: 10, After: &driver.Position{Value: 2, ID: rows[1].ID}})
		w.same("amounts", amounts(got), []int64{3})
	}},
}}

var errStop = errors.New("enough")

// walks compares a walk with the result in one piece.
func (w lists) walks(q driver.Query) {
	w.Helper()
	whole := q
	whole.Limit = 100
	want := keysOf(w.find("", whole))
	var got []string
	w.tx(func(tx driver.Tx) error {
		got = nil
		return w.things.Walk(w.ctx, tx, "", q, func(page []*thing) error {
			w.same("page", len(page) > 0 && len(page) <= q.Limit, true)
			if got = append(got, keysOf(page)...); len(got) > len(want) {
				return errStop
			}
			return nil
		})
	})
	w.same(fmt.Sprintf("walk by %q, %d rows a page, down %t", q.OrderBy, q.Limit, q.Desc), got, want)
}

// ranked makes rows of those amounts, whose names and due moments go the same way.
func ranked(amounts ...int) []*thing {
	rows := make([]*thing, len(amounts))
	for i, n := range amounts {
		key := fmt.Sprint(n)
		if slices.Contains(amounts[:i], n) {
			key = fmt.Sprint(n, " at ", i)
		}
		r := newThing(key)
		r.Amount, r.Name, r.DueOn, r.Rank = int64(n), fmt.Sprint("name ", n), at(n), int32(n)
		rows[i] = r
	}
	return rows
}

func amounts(rows []*thing) []int64 {
	out := make([]int64, len(rows))
	for i, r := range rows {
		out[i] = r.Amount
	}
	return out
}

func byAmount(a, b *thing) int {
	if a.Amount != b.Amount {
		return int(a.Amount - b.Amount)
	}
	return int(a.ID - b.ID)
}

func (w lists) ascending(rows []*thing) {
	w.Helper()
	for i := 1; i < len(rows); i++ {
		if rows[i-1].ID >= rows[i].ID {
			w.Errorf("id %d comes after id %d", rows[i].ID, rows[i-1].ID)
		}
	}
}

// pages reads page by page and compares with the result in one piece.
func (w lists) pages(q driver.Query, value func(*thing) any) {
	w.Helper()
	whole := q
	whole.Limit = 100
	want := keysOf(w.find("", whole))
	var got []string
	for {
		page := w.find("", q)
		got = append(got, keysOf(page)...)
		if len(page) < q.Limit || len(got) > len(want) {
			break
		}
		last := page[len(page)-1]
		q.After = &driver.Position{Value: value(last), ID: last.ID}
	}
	w.same(fmt.Sprintf("pages by %q, %d rows each, down %t", q.OrderBy, q.Limit, q.Desc), got, want)
}

// onlyColumns asks for one column of each kind, and saves what it got, which is
// stale.
func onlyColumns(w *world) {
	r := newThing("a")
	r.Scope, r.Kind, r.Name, r.Note, r.Amount, r.Ready, r.SeenOn = "one", "served", "Ann", "hidden", 3, true, at(1)
	r.Tags, r.Data, r.Seal, r.Origin = []string{"x"}, []byte("data"), []byte("seal"), "there"
	w.insert(r)
	got := w.find("one", driver.Query{Columns: []string{"key", "name", "amount", "is_ready", "seen_on", "tags", "seal"}, OrderBy: "note", Limit: 2})
	want := thing{Name: r.Name, Amount: r.Amount, Ready: true, SeenOn: r.SeenOn, Tags: r.Tags, Seal: r.Seal}
	want.ID, want.Scope, want.Key = r.ID, r.Scope, r.Key
	w.same("rows", got, []*thing{&want})
	var err error
	w.tx(func(tx driver.Tx) error {
		err = w.things.Save(w.ctx, tx, got...)
		return nil
	})
	w.same("is stale", errors.Is(err, driver.ErrStale), true)
	w.same("row", w.find("one", driver.Query{Limit: 2}), []*thing{r})
}
