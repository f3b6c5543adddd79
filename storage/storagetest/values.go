package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

var valueTheme = theme{name: "values", sentences: []sentence{
	{"integers keep their whole range", func(w *world) {
		w.keeps(func(r *thing) { r.Amount, r.Rank = math.MaxInt64, math.MaxInt32 })
		w.keeps(func(r *thing) { r.Amount, r.Rank = math.MinInt64, math.MinInt32 })
		w.keeps(func(r *thing) { r.Amount, r.Rank, r.Lane = -1, -1, math.MaxInt16 })
		w.keeps(func(r *thing) { r.Amount, r.Lane = 1<<53+1, math.MinInt16 })
	}},
	{"booleans are true or false", func(w *world) {
		w.keeps(func(r *thing) { r.Ready, r.Checked, r.Abandoned = true, true, true })
		w.keeps(func(r *thing) { r.Ready, r.Checked, r.Abandoned = false, false, false })
	}},
	{"bytes come back byte by byte", func(w *world) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		w.keeps(func(r *thing) { r.Data, r.Seal = all, all })
		w.keeps(func(r *thing) { r.Data, r.Seal = []byte{0}, []byte(`\x00`) })
		w.keeps(func(r *thing) { r.Data = []byte(strings.Repeat("x", 1<<14)) })
	}},
	{"bytes that may not be NULL are empty rather than nil", func(w *world) {
		r := newThing("a")
		r.Data = nil
		w.insert(r)
		w.same("nil", w.get("a").Data, []byte{})
		r.Data = []byte{}
		w.save(r)
		w.same("empty", w.get("a").Data, []byte{})
	}},
	{"nil bytes are NULL where they may be, and empty ones are not", func(w *world) {
		w.keeps(func(r *thing) { r.Seal = nil })
		w.keeps(func(r *thing) { r.Seal = []byte{} })
	}},
	{"NULL comes back as the zero value", func(w *world) {
		w.keeps(func(r *thing) {
			r.Note, r.Rank, r.Checked, r.SeenOn, r.Labels, r.Raw, r.Seal = "", 0, false, time.Time{}, nil, nil, nil
		})
	}},
	{"NULLs and values go together in one call", func(w *world) {
		rows := newThings("a", "b", "c", "d")
		fill(rows[1])
		rows[2].Note, rows[2].Seal = "only", []byte{}
		fill(rows[3])
		w.insert(rows...)
		for _, r := range rows {
			w.same("inserted", w.get(r.Key), r)
		}
		rows[0].Note, rows[1].Note, rows[1].Seal, rows[2].SeenOn = "x", "", nil, base
		w.same("stale", w.save(rows...), []int(nil))
		for _, r := range rows {
			w.same("saved", w.get(r.Key), r)
		}
	}},
	{"many rows of one call keep what they share and what they do not", func(w *world) {
		rows := make([]*thing, 150)
		for i := range rows {
			rows[i] = newThing(fmt.Sprintf("%03d", i))
			rows[i].Origin, rows[i].Rank, rows[i].Ready, rows[i].SeenOn = "shared", 7, true, at(i)
			rows[i].DueOn = rows[i].SeenOn
			rows[i].Raw = json.RawMessage(`{"n":1}`)
		}
		fill(rows[1])
		w.insert(rows...)
		sameRows(w, "inserted", rows)
		for i, r := range rows {
			r.Status, r.Name, r.Checked, r.SeenOn = done, fmt.Sprint(i%2), i == 3, at(-i)
			r.Note, r.Raw, r.DueOn = "one", nil, at(i+1)
		}
		w.same("stale", w.save(rows...), []int(nil))
		sameRows(w, "saved", rows)
		for _, r := range rows {
			r.DueOn = time.Time{}
		}
		w.same("stale", w.save(rows...), []int(nil))
		sameRows(w, "saved again", rows)
	}},
}}

func sameRows(w *world, what string, rows []*thing) {
	w.Helper()
	for _, r := range rows {
		w.same(what, w.get(r.Key), r)
	}
}

// keeps shows that a row comes back as it is from Insert, from Save and from a
// claim. It leaves the table empty.
func (w *world) keeps(change func(*thing)) {
	w.Helper()
	row := newThing("kept")
	change(row)
	w.insert(row)
	w.same("inserted", w.get("kept"), row)
	w.remove(row)

	row = newThing("kept")
	w.insert(row)
	lane := row.Lane
	change(row)
	row.Lane = lane // fixed
	w.same("stale", w.save(row), []int(nil))
	w.same("saved", w.get("kept"), row)

	c := due("t")
	c.Busy = ""
	c.Lanes[0].Lane = lane
	row.DueOn, row.Status, row.LeaseExpiresOn = base, ready, time.Time{}
	w.save(row)
	if got := w.claim(c); len(got) == 1 {
		row.Version, row.ClaimToken, row.LeaseExpiresOn, row.Abandoned = row.Version+1, "t", c.LeaseUntil, false
		w.same("claimed", got[0], row)
	} else {
		w.Errorf("claimed %d rows", len(got))
	}
	w.remove(row)
}

var timeTheme = theme{name: "times", sentences: []sentence{
	{"times come back in UTC and as the same instant", func(w *world) {
		row := newThing("a")
		row.SeenOn = time.Date(2026, 3, 1, 3, 0, 0, 0, time.FixedZone("", -5*3600))
		w.insert(row)
		got := w.get("a").SeenOn
		w.same("instant", got, base)
		w.same("location", got.Location().String(), "UTC")
	}},
	{"times are whole microseconds, cut off", func(w *world) {
		for i, extra := range []time.Duration{1, 499, 500, 501, 999} {
			row := newThing(string(rune('a' + i)))
			row.SeenOn, row.DueOn = base.Add(extra), base.Add(time.Microsecond+extra)
			w.insert(row)
			w.same("inserted", w.get(row.Key).SeenOn, base)
			w.same("inserted", w.get(row.Key).DueOn, at(1))
			row.SeenOn = at(7).Add(extra)
			w.save(row)
			w.same("saved", w.get(row.Key).SeenOn, at(7))
		}
	}},
	{"each verb cuts off the moments that it writes", func(w *world) {
		p := w.plans()
		r := p.insert(1)[0]
		cut := func(what string, due time.Time) {
			w.Helper()
			w.same("due after "+what, p.stored(r.Key).DueOn, due)
			next, err := w.store.Next(w.ctx, &p.table.Schema, later("t"), at(100))
			w.is("Next", err, nil)
			w.same("next after "+what, earliest(next), due)
		}
		r.DueOn, r.SeenOn = at(3).Add(999), at(4).Add(999)
		w.tx(func(tx driver.Tx) error { return p.table.Save(w.ctx, tx, r) })
		cut("Save", at(3))
		w.same("seen", p.stored(r.Key).SeenOn, at(4))

		c := due("t")
		c.Now = at(2).Add(999)
		c.Lanes[0].After = driver.Cursor{DueOn: at(2).Add(999)}
		w.same("rows that are due", len(p.take(c)), 0)
		c.Now = at(3)
		taken := p.take(c)
		w.same("rows that are due", len(taken), 1)
		taken[0].Status, taken[0].DueOn, taken[0].LeaseExpiresOn = ready, at(5).Add(999), time.Time{}
		w.tx(func(tx driver.Tx) error { return p.table.Settle(w.ctx, tx, taken...) })
		cut("Settle", at(5))
		c.Now, c.Token = at(5), "u"
		c.Lanes[0].After = driver.Cursor{DueOn: at(5).Add(999), ID: r.ID - 1}
		w.same("rows behind the cursor", len(p.take(c)), 1)
	}},
	{"a time before 1970 is cut off towards the past too", func(w *world) {
		w.keeps(func(r *thing) { r.SeenOn = time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC) })
		row := newThing("a")
		row.SeenOn = time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
		w.insert(row)
		w.same("stored", w.get("a").SeenOn, time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC))
	}},
	{"a zero time is NULL", func(w *world) {
		row := newThing("a")
		row.SeenOn = time.Time{}.In(time.FixedZone("", 3600))
		w.insert(row)
		w.same("zero", w.get("a").SeenOn.IsZero(), true)
		w.same("NULL", w.where(driver.Null("seen_on")), []string{"a"})
	}},
	{"years 1 and 9999 are kept", func(w *world) {
		w.keeps(func(r *thing) { r.SeenOn = time.Time{}.Add(time.Microsecond) })
		w.keeps(func(r *thing) { r.SeenOn = time.Date(1, 6, 7, 8, 9, 10, 11000, time.UTC) })
		w.keeps(func(r *thing) { r.SeenOn = time.Date(1847, 1, 1, 0, 0, 1, 0, time.UTC) })
		w.keeps(func(r *thing) { r.SeenOn = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC) })
	}},
	{"instants are ordered, whatever zone they were given in", func(w *world) {
		rows := newThings("a", "b", "c")
		rows[0].SeenOn = base.Add(time.Second).In(time.FixedZone("", 2*3600))
		rows[1].SeenOn = base.Add(-time.Second).In(time.FixedZone("", -9*3600))
		rows[2].SeenOn = base
		w.insert(rows...)
		w.same("keys", keysOf(w.find("", driver.Query{OrderBy: "seen_on", Limit: 10})), []string{"b", "c", "a"})
	}},
	{"the moments of a claim are cut off like stored ones", func(w *world) {
		w.insert(newThings("a", "b")...)
		c := due("t")
		c.Now, c.LeaseUntil = at(0).Add(999), at(9).Add(999)
		rows := w.claim(c)
		w.same("keys", keysOf(rows), []string{"a"})
		w.same("lease", rows[0].LeaseExpiresOn, at(9))
		w.extend(at(20).Add(999), rows...)
		w.same("extended lease", w.get("a").LeaseExpiresOn, at(20))
	}},
	{"a clock in another zone changes nothing", func(w *world) {
		w.insert(newThings("a", "b")...)
		zone := time.FixedZone("", 5*3600)
		c := due("t")
		c.Now, c.LeaseUntil = c.Now.In(zone), c.LeaseUntil.In(zone)
		c.Lanes[0].After = driver.Cursor{DueOn: at(-1).In(zone)}
		rows := w.claim(c)
		w.same("keys", keysOf(rows), []string{"a"})
		w.same("lease", rows[0].LeaseExpiresOn, base.Add(time.Minute))
		w.same("location", rows[0].LeaseExpiresOn.Location().String(), "UTC")
	}},
}}

var textTheme = theme{name: "text", sentences: []sentence{
	{"text comes back byte by byte", func(w *world) {
		rows := newThings(spellings...)
		for i, text := range append(spellings[1:], "") {
			rows[i].Name, rows[i].Note, rows[i].Origin, rows[i].Kind = text, text, text, text
		}
		w.insert(rows...)
		for _, r := range rows {
			w.same("inserted", w.get(r.Key), r)
			r.Name, r.Note, r.Kind = r.Note+r.Key, r.Key, ""
		}
		w.same("stale", w.save(rows...), []int(nil))
		for _, r := range rows {
			w.same("saved", w.get(r.Key), r)
		}
	}},
	{"text holds many bytes", func(w *world) {
		row := newThing("a")
		row.Name = strings.Repeat("\u20ac", 300_000)
		w.insert(row)
		w.same("equal", w.get("a").Name == row.Name, true)
	}},
	{"text with a NUL is refused", func(w *world) {
		row := newThing("a")
		row.Name = "a\x00b"
		w.refuses(row, "name")
		w.refuses(newThing("a\x00b"), "key")
	}},
	{"text that is not valid UTF-8 is refused", func(w *world) {
		row := newThing("a")
		row.Note = "a\xff"
		w.refuses(row, "note")
	}},
	{"a refusal never holds the value", func(w *world) {
		row := newThing("a")
		row.Name = "secret\x00"
		if message := w.refuses(row, "name"); strings.Contains(message, "secret") {
			w.Errorf("the error holds the value: %s", message)
		}
	}},
	{"a row over its limit is refused", func(w *world) {
		w.things.Limit(100)
		row := newThing("a")
		row.Name = strings.Repeat("x", 101)
		w.tx(func(tx driver.Tx) error {
			_, err := w.things.Insert(w.ctx, tx, newThing("b"), row)
			if size := (*driver.RowSizeError)(nil); !errors.As(err, &size) {
				w.Errorf("error is %v", err)
			}
			return nil
		})
		w.same("rows", len(w.all()), 0)
	}},
}}

// refuses shows that a row is refused by Insert, Save and Ensure because of a
// column, and that no other row of the call is written either. It gives the
// messages.
func (w *world) refuses(row *thing, column string) (message string) {
	w.Helper()
	check := func(verb string, err error) error {
		w.Helper()
		message += fmt.Sprintln(err)
		if refused := (*driver.ValueError)(nil); !errors.As(err, &refused) || refused.Column != column {
			w.Errorf("%s: error is %v, want one about %s", verb, err, column)
		}
		return nil
	}
	w.tx(func(tx driver.Tx) error {
		_, err := w.things.Insert(w.ctx, tx, newThing("beside"), row)
		return check("Insert", err)
	})
	w.tx(func(tx driver.Tx) error {
		_, err := w.things.Ensure(w.ctx, tx, unchanged, newThing("beside"), row)
		return check("Ensure", err)
	})
	w.same("rows after Insert and Ensure", len(w.all()), 0)

	stored := newThing("stored")
	w.insert(stored)
	changed := copyOf(stored)
	changed.Name = "changed"
	w.tx(func(tx driver.Tx) error {
		return check("Save", w.things.Save(w.ctx, tx, changed, row))
	})
	w.same("row after Save", w.get("stored"), stored)
	w.remove(stored)
	return message
}

var jsonTheme = theme{name: "json", sentences: []sentence{
	{"JSON comes back byte by byte", func(w *world) {
		for _, text := range []string{
			`{"b":1,"a":2,"b":3}`, // order and repeated keys
			`[1.0,1e2,100,-0,0.1000000000000000055511151231257827,123456789012345678901234567890]`,
			`{"text":"\u0000\u2028\ud83d\ude00\u00e9 \\ \" '' %s {} NULL"}`,
			`"\u003c\u0026\u003e"`, `""`, `{}`, `[]`, `0`, `false`, `[null]`,
		} {
			w.keeps(func(r *thing) { r.Raw = json.RawMessage(text) })
		}
	}},
	{"values come back as they were", func(w *world) {
		w.keeps(func(r *thing) { r.Tags, r.Labels = []string{}, map[string]string{} })
		w.keeps(func(r *thing) { r.Tags, r.Labels = []string{""}, map[string]string{"": ""} })
		w.keeps(func(r *thing) { r.Tags = spellings })
		w.keeps(func(r *thing) {
			r.Labels = map[string]string{}
			for _, s := range spellings {
				r.Labels[s] = s
			}
		})
	}},
	{"nil is null where it is not NULL", func(w *world) {
		w.keeps(func(r *thing) { r.Tags = nil })
	}},
	{"a value that does not marshal is refused", func(w *world) {
		row := newThing("a")
		row.Raw = json.RawMessage(`{"open":`)
		w.refuses(row, "raw")
	}},
}}

// spellings are keys that some database or driver might take for one another,
// or for syntax.
var spellings = []string{
	"a", "A", "\u00e4", "a\u0308", "\u00c4", "ss", "\u00df", "i", "I", "\u0130", "\u0131",
	" a", "a ", "a\t", "a\n", "a\r\n", "a\x1fb", "a\x01", "a\u200b", "\ufeffa", "\U0001F514", "\U0001F515",
	"%", "_", "a%", "'", "''", `"`, `\`, `\\`, `\x41`, "{", "}", "{a,b}", "NULL", "null", "a,b", "a:b",
	"$1", "?", ":a", "0", "00", "0.0", "-0", "1e3", "true", "(a)", "[a]", "a;--", "/", "../a",
}
