package storagetest

import (
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage/driver"
)

var countTheme = theme{name: "count", sentences: []sentence{
	{"Count counts rows of scope for which all conditions hold", func(w *world) {
		w.insert(newThings("a", "b", "c")...)
		w.insert(scoped("one", "a"))
		w.same("all", w.count("", 10), 3)
		w.same("from b on", w.count("", 10, driver.AtLeast("key", "b")), 2)
		w.same("none", w.count("", 10, driver.Eq("key", "x")), 0)
		w.same("of another scope", w.count("two", 10), 0)
	}},
	{"Count counts not further than limit", func(w *world) {
		w.insert(newThings("a", "b", "c")...)
		w.same("limit 2", w.count("", 2), 2)
		w.same("limit 3", w.count("", 3), 3)
		w.same("limit 4", w.count("", 4), 3)
	}},
	{"HasChildren tells behind which keys others go on", func(w *world) {
		w.insert(newThings("a", "a\x1f1", "a\x1f2", "b", "b\x201", "ab\x1f1", "c\x1f")...)
		w.insert(scoped("one", "b\x1f1"), scoped("two", "d\x1f1"))
		places := []driver.ScopedKey{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}, {Key: "a\x1f1"}, {Key: "a"}, {Scope: "one", Key: "b"}, {Scope: "two", Key: "d"}, {Key: "a\x00"}}
		w.same("any", w.under(places), []bool{true, false, false, false, false, true, true, true, false})
		w.same("those of a key", w.under(places, driver.Eq("key", "a\x1f3")), make([]bool, len(places)))
		w.same("those of one of two", w.under(places, driver.Any(driver.Eq("key", "a\x1f2"), driver.Eq("key", "d\x1f1"))),
			[]bool{true, false, false, false, false, true, false, true, false})
		w.same("no places", w.under(nil), []bool{})
	}},
	{"FindChildren reads what goes on behind each of some keys, at most Limit of each", func(w *world) {
		w.insert(newThings("a", "a\x1f2", "a\x1f1", "a\x1f3", "b\x1f1", "b\x201", "ab\x1f1", "c\x1f1", "a\x1f1\x1f1")...)
		w.insert(scoped("one", "a\x1f9"))
		first := driver.Query{Limit: 2}
		w.same("the first of each", w.findUnder("", first, "a", "b", "d", "a", "b\x00"), map[string][]string{"a": {"a\x1f1", "a\x1f1\x1f1"}, "b": {"b\x1f1"}, "d": nil})
		w.same("the last of each", w.findUnder("", driver.Query{Desc: true, Limit: 2}, "c", "a"), map[string][]string{"a": {"a\x1f3", "a\x1f2"}, "c": {"c\x1f1"}})
		w.same("some of them", w.findUnder("", driver.Query{Limit: 9, Where: []driver.Cond{driver.In("key", []string{"a\x1f3", "b\x1f1"})}}, "a", "b", "c"),
			map[string][]string{"a": {"a\x1f3"}, "b": {"b\x1f1"}, "c": nil})
		w.same("one behind another", w.findUnder("", first, "a", "a\x1f1"), map[string][]string{"a": {"a\x1f1", "a\x1f1\x1f1"}, "a\x1f1": {"a\x1f1\x1f1"}})
		w.same("of another scope", w.findUnder("one", first, "a", "b"), map[string][]string{"a": {"a\x1f9"}, "b": nil})
		w.same("no keys", w.findUnder("", first), map[string][]string{})
		rows := w.find("", driver.Query{Columns: []string{"name"}, Parents: []string{"b"}, Limit: 1})
		w.same("columns", []any{keysOf(rows), rows[0].Version}, []any{[]string{"b\x1f1"}, int64(0)})
	}},
}}

func (w *world) under(places []driver.ScopedKey, where ...driver.Cond) (found []bool) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		found, err = w.things.HasChildren(w.ctx, tx, places, where...)
		return err
	})
	return found
}

func (w *world) findUnder(scope driver.Scope, q driver.Query, keys ...string) map[string][]string {
	w.Helper()
	out := map[string][]string{}
	w.tx(func(tx driver.Tx) error {
		found, err := w.things.FindChildren(w.ctx, tx, scope, keys, q)
		for key, rows := range found {
			out[key] = nil
			for _, row := range rows {
				out[key] = append(out[key], row.Key)
			}
		}
		return err
	})
	return out
}

func (w *world) count(scope driver.Scope, limit int, where ...driver.Cond) (n int) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		n, err = w.things.Count(w.ctx, tx, scope, limit, where...)
		return err
	})
	return n
}

func (w *world) countEverywhere(limit int) (n int) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		n, err = w.things.Everywhere().Count(w.ctx, tx, limit)
		return err
	})
	return n
}

var tallyTheme = theme{name: "tally", sentences: []sentence{
	{"Tally counts rows of scope by kind", func(w *world) {
		w.insert(grid()...)
		w.insert(scoped("one", "x1"))
		w.same("by name", w.tallies().tally("", driver.CountBy{By: []string{"name"}, OrderBy: "id", Limit: 10}), []string{"x 2", "y 2"})
		w.same("by two", w.tallies().tally("", driver.CountBy{By: []string{"name", "ranking"}, OrderBy: "key", Limit: 10}),
			[]string{"x 1 1", "x 2 1", "y 1 1", "y 2 1"})
		w.same("in all", w.tallies().tally("", driver.CountBy{OrderBy: "id", Limit: 10}), []string{"4"})
		w.same("of another scope", w.tallies().tally("two", driver.CountBy{By: []string{"name"}, OrderBy: "id", Limit: 10}), []string{})
		w.same("nothing in all", w.tallies().tally("two", driver.CountBy{OrderBy: "id", Limit: 10}), []string{})
	}},
	{"it counts those for which all conditions hold", func(w *world) {
		w.insert(grid()...)
		q := driver.CountBy{By: []string{"name"}, Where: []driver.Cond{driver.Greater("key", "x1")}, OrderBy: "id", Limit: 10}
		w.same("behind x1", w.tallies().tally("", q), []string{"x 1", "y 2"})
	}},
	{"it tells scopes apart where they are named", func(w *world) {
		w.insert(newThing("a"), scoped("one", "a"), scoped("one", "b"))
		w.same("by scope", w.tallies().tallyEverywhere(driver.CountBy{By: []string{"scope"}, OrderBy: "id", Limit: 10}), []string{" 1", "one 2"})
		w.same("together", w.tallies().tallyEverywhere(driver.CountBy{OrderBy: "id", Limit: 10}), []string{"3"})
	}},
	{"it counts not further than limit, the lowest values first", func(w *world) {
		rows := grid()
		for i, r := range rows {
			r.DueOn = at(-i)
		}
		w.insert(rows...)
		by := func(order string, limit int) []string {
			return w.tallies().tally("", driver.CountBy{By: []string{"name"}, OrderBy: order, Limit: limit})
		}
		w.same("by key", by("key", 3), []string{"x 2", "y 1"})
		w.same("by moment", by("due_on", 3), []string{"x 1", "y 2"})
		w.same("one", by("due_on", 1), []string{"y 1"})
		w.same("none", by("due_on", 0), []string{})
	}},
	{"it tells the lowest value of each kind", func(w *world) {
		rows := grid()
		for i, r := range rows {
			r.DueOn, r.Amount = at(-i), int64(i)
		}
		w.insert(rows...)
		got := w.tallies().groups("", driver.CountBy{By: []string{"name"}, OrderBy: "due_on", Limit: 10})
		w.same("moments", []any{got[0].Row.Name, got[0].Row.DueOn, got[1].Row.Name, got[1].Row.DueOn}, []any{"x", at(-1), "y", at(-3)})
		got = w.tallies().groups("", driver.CountBy{By: []string{"name"}, OrderBy: "amount", Limit: 10})
		w.same("numbers", []any{got[0].Row.Amount, got[1].Row.Amount}, []any{int64(0), int64(2)})
		got = w.tallies().groups("", driver.CountBy{By: []string{"name"}, OrderBy: "key", Limit: 10})
		w.same("texts", []any{got[0].Row.Key, got[1].Row.Key}, []any{"x1", "y1"})
	}},
	{"NULL is a kind, and not counted in the order", func(w *world) {
		rows := grid()
		rows[0].Note, rows[1].SeenOn = "seen", at(1)
		w.insert(rows...)
		w.same("a kind", w.tallies().tally("", driver.CountBy{By: []string{"note"}, OrderBy: "id", Limit: 10}), []string{" 3", "seen 1"})
		w.same("in the order", w.tallies().tally("", driver.CountBy{By: []string{"name"}, OrderBy: "seen_on", Limit: 10}), []string{"x 1"})
	}},
	{"every kind of column can be counted by but JSON and bytes", func(w *world) {
		rows := grid()
		rows[0].Ready, rows[0].SeenOn, rows[0].Lane = true, at(5), 7
		w.insert(rows...)
		got := w.tallies().groups("", driver.CountBy{By: []string{"is_ready", "seen_on", "lane"}, OrderBy: "id", Limit: 10})
		slices.SortFunc(got, func(a, b driver.GroupOf[thing]) int { return a.N - b.N })
		w.same("numbers", []int{got[0].N, got[1].N}, []int{1, 3})
		w.same("values", []any{got[0].Row.Ready, got[0].Row.SeenOn, got[0].Row.Lane}, []any{true, at(5), int16(7)})
		for _, q := range []driver.CountBy{
			{By: []string{"tags"}, OrderBy: "id", Limit: 1}, {By: []string{"data"}, OrderBy: "id", Limit: 1},
			{OrderBy: "tags", Limit: 1}, {OrderBy: "data", Limit: 1}, {OrderBy: "is_ready", Limit: 1},
		} {
			err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
				_, err := w.things.CountBy(w.ctx, tx, "", q)
				return err
			})
			if err == nil {
				w.Errorf("%+v was counted", q)
			}
		}
	}},
}}

func (w tallies) groups(scope driver.Scope, q driver.CountBy) (out []driver.GroupOf[thing]) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		out, err = w.things.CountBy(w.ctx, tx, scope, q)
		return err
	})
	return sorted(out, q)
}

func sorted(out []driver.GroupOf[thing], q driver.CountBy) []driver.GroupOf[thing] {
	slices.SortFunc(out, func(a, b driver.GroupOf[thing]) int {
		return slices.Compare(kind(a, q.By), kind(b, q.By))
	})
	return out
}

// tally tells of each kind its values and how many rows it has.
func (w tallies) tally(scope driver.Scope, q driver.CountBy) []string {
	w.Helper()
	return told(w.groups(scope, q), q)
}

func (w tallies) tallyEverywhere(q driver.CountBy) []string {
	w.Helper()
	var out []driver.GroupOf[thing]
	w.tx(func(tx driver.Tx) (err error) {
		out, err = w.things.Everywhere().CountBy(w.ctx, tx, q)
		return err
	})
	return told(sorted(out, q), q)
}

func told(groups []driver.GroupOf[thing], q driver.CountBy) []string {
	out := []string{}
	for _, g := range groups {
		text := ""
		for _, v := range kind(g, q.By) {
			text += v + " "
		}
		out = append(out, fmt.Sprint(text, g.N))
	}
	return out
}

func kind(g driver.GroupOf[thing], by []string) []string {
	values := map[string]string{
		"scope": string(g.Row.Scope), "name": g.Row.Name, "note": g.Row.Note, "ranking": fmt.Sprint(g.Row.Rank),
	}
	out := make([]string, len(by))
	for i, column := range by {
		out[i] = values[column]
	}
	return out
}
