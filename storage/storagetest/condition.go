package storagetest

import (
	"fmt"
	"math"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

var conditionTheme = theme{name: "conditions", sentences: []sentence{
	{"Eq, Less, AtMost, Greater and AtLeast compare text byte by byte", func(w *world) {
		w.lists().compares("name", []any{"B", "a", "\u00e4"}, func(r *thing, v any) { r.Name = v.(string) })
	}},
	{"they compare nullable text", func(w *world) {
		w.lists().compares("note", []any{"B", "a", "\u00e4"}, func(r *thing, v any) { r.Note = v.(string) })
	}},
	{"they compare integers", func(w *world) {
		w.lists().compares("amount", []any{int64(math.MinInt64), int64(-1), int64(math.MaxInt64)},
			func(r *thing, v any) { r.Amount = v.(int64) })
	}},
	{"they compare small integers", func(w *world) {
		w.lists().compares("lane", []any{int16(-1), int16(0), int16(7)}, func(r *thing, v any) { r.Lane = v.(int16) })
		w.lists().compares("ranking", []any{int32(-9), int32(1), int32(math.MaxInt32)},
			func(r *thing, v any) { r.Rank = v.(int32) })
	}},
	{"they compare instants", func(w *world) {
		cork := time.FixedZone("", 3600)
		w.lists().compares("seen_on", []any{at(-1), base.In(cork), at(1)}, func(r *thing, v any) { r.SeenOn = v.(time.Time) })
	}},
	{"they compare booleans", func(w *world) {
		rows := newThings("a", "b")
		rows[1].Ready = true
		w.insert(rows...)
		w.same("true", w.where(driver.Eq("is_ready", true)), []string{"b"})
		w.same("false", w.where(driver.Eq("is_ready", false)), []string{"a"})
	}},
	{"they take named types", func(w *world) {
		type name string
		type number int32
		w.insert(newThing("a"))
		w.same("text", w.where(driver.Eq("key", name("a")), driver.In("status", []name{ready})), []string{"a"})
		w.same("number", w.where(driver.AtMost("amount", number(0))), []string{"a"})
	}},
	{"a comparison with NULL is false", comparesNull},
	{"Null and NotNull tell which columns are NULL", func(w *world) {
		rows := newThings("a", "b")
		fill(rows[1])
		w.insert(rows...)
		for _, column := range []string{"note", "ranking", "is_checked", "seen_on", "labels", "raw", "seal", "lease_expires_on"} {
			w.same(column+" is NULL", w.where(driver.Null(column)), []string{"a"})
			w.same(column+" is not NULL", w.where(driver.NotNull(column)), []string{"b"})
		}
		for _, column := range []string{"name", "amount", "is_ready", "tags", "data", "claim_token", "id"} {
			w.same(column+" is NULL", w.where(driver.Null(column)), []string{})
		}
	}},
	{"In holds where column equals one of values", func(w *world) {
		rows := newThings("a", "b", "c", "d")
		for i, r := range rows[:3] {
			r.Note, r.Rank, r.Amount = fmt.Sprint(i), int32(i), int64(i)
		}
		w.insert(rows...)
		w.same("keys", w.where(driver.In("key", []string{"d", "b", "b", "x"})), []string{"b", "d"})
		w.same("integers", w.where(driver.In("amount", []int64{2, 1, 9})), []string{"b", "c"})
		w.same("ids", w.where(driver.In("id", []int64{rows[3].ID, rows[0].ID})), []string{"a", "d"})
		w.same("NULL in text", w.where(driver.In("note", []string{"0", ""})), []string{"a"})
		w.same("NULL in integers", w.where(driver.In("ranking", []int64{0, 1})), []string{"b"})
	}},
	{"In of no values never holds", func(w *world) {
		w.insert(newThing("a"))
		w.same("keys", w.where(driver.In("key", []string{})), []string{})
		w.same("keys of nil", w.where(driver.In[string]("key", nil)), []string{})
		w.same("ids", w.where(driver.In("id", []int64{})), []string{})
	}},
	{"In takes thousands of values", func(w *world) {
		w.insert(newThings("3", "5000", "x")...)
		keys := make([]string, 4000)
		for i := range keys {
			keys[i] = fmt.Sprint(i)
		}
		w.same("keys", w.where(driver.In("key", keys)), []string{"3"})
	}},
	{"conditions are joined by AND, those of Any by OR", func(w *world) {
		w.insert(grid()...)
		name := func(v string) driver.Cond { return driver.Eq("name", v) }
		rank := func(v int) driver.Cond { return driver.Eq("ranking", v) }
		w.same("and", w.where(name("x"), rank(1)), []string{"x1"})
		w.same("or", w.where(driver.Any(name("x"), rank(1))), []string{"x1", "x2", "y1"})
		w.same("nested", w.where(driver.Any(name("z"), driver.Any(rank(2), name("x")))), []string{"x1", "x2", "y2"})
		w.same("or and", w.where(driver.Any(name("x"), rank(1)), driver.Any(name("y"), rank(2))), []string{"x2", "y1"})
		w.same("around", w.where(name("x"), driver.Any(rank(2), rank(3)), driver.Eq("status", ready)), []string{"x2"})
	}},
	{"Any of no conditions never holds", func(w *world) {
		w.insert(newThing("a"))
		w.same("keys", w.where(driver.Any()), []string{})
		w.same("beside another", w.where(driver.Any(driver.Any(), driver.Eq("key", "a"))), []string{"a"})
	}},
}}

// compares inserts a row for each of three ascending values, and one that keeps
// the zero value under a key apart, and tries every comparison with each value.
func (w lists) compares(column string, values []any, set func(*thing, any)) {
	w.Helper()
	keys := []string{column + " 0", column + " 1", column + " 2"}
	rows := newThings(keys...)
	for i, r := range rows {
		set(r, values[i])
	}
	w.insert(rows...)
	for i, v := range values {
		for _, c := range []struct {
			name string
			cond driver.Cond
			want []string
		}{
			{"Eq", driver.Eq(column, v), keys[i : i+1]},
			{"Less", driver.Less(column, v), keys[:i]},
			{"AtMost", driver.AtMost(column, v), keys[:i+1]},
			{"Greater", driver.Greater(column, v), keys[i+1:]},
			{"AtLeast", driver.AtLeast(column, v), keys[i:]},
		} {
			got := w.where(c.cond, driver.In("key", keys))
			w.same(fmt.Sprintf("%s(%q, %v)", c.name, column, v), got, c.want)
		}
	}
}

func comparesNull(w *world) {
	w.insert(newThing("a"))
	for _, conds := range [][]driver.Cond{
		all("note", "x"), all("note", ""), all("ranking", 1), all("ranking", 0),
		all("seen_on", base), all("is_checked", true), all("is_checked", false),
	} {
		for _, c := range conds {
			w.same(fmt.Sprintf("%s, operator %d, %v", c.Column, c.Op, c.Value), w.where(c), []string{})
		}
	}
	w.same("NULL as the value", w.where(driver.Eq("due_on", time.Time{})), []string{})
	w.same("NULL as a lower bound", w.where(driver.Greater("due_on", time.Time{})), []string{})
}

// all is a column compared in every way.
func all(column string, value any) []driver.Cond {
	return []driver.Cond{
		driver.Eq(column, value), driver.Less(column, value), driver.AtMost(column, value),
		driver.Greater(column, value), driver.AtLeast(column, value),
	}
}

func grid() []*thing {
	rows := newThings("x1", "x2", "y1", "y2")
	for i, r := range rows {
		r.Name, r.Rank = r.Key[:1], int32(i%2+1)
	}
	return rows
}
