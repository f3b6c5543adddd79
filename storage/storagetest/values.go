package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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
			w.same("next after "+what, next, due)
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
			rows[i].Name, rows[i].Note, rows[i].Origin, rows[i].Type = text, text, text, text
		}
		w.insert(rows...)
		for _, r := range rows {
			w.same("inserted", w.get(r.Key), r)
			r.Name, r.Note, r.Type = r.Note+r.Key, r.Key, ""
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

var identityTheme = theme{name: "identity", sentences: []sentence{
	{"keys are compared byte by byte", func(w *world) {
		w.insert(newThings(spellings...)...)
		for _, r := range w.insertSome(newThings(spellings...)...) {
			w.same("inserted again", r, false)
		}
		for _, key := range spellings {
			w.same("key", w.get(key).Key, key)
			w.same("found", w.where(driver.In("key", []string{key})), []string{key})
		}
	}},
	{"keys are ordered byte by byte", func(w *world) {
		w.insert(newThings(spellings...)...)
		want := slices.Sorted(slices.Values(spellings))
		got := keysOf(w.find("", driver.Query{OrderBy: "key", Limit: 100}))
		w.same("order", got, want)
		for i, key := range want {
			w.same("keys below", len(w.where(driver.Less("key", key))), i)
		}
	}},
	{"a key of a thousand bytes is as good as a short one", func(w *world) {
		long := strings.Repeat("0123456789", 100)
		w.insert(newThings(long, long+"a", long+"b", long[1:])...)
		w.same("inserted again", w.insertSome(newThing(long+"b")), []bool{false})
		w.same("key", w.get(long+"a").Key, long+"a")
	}},
	{"an empty key is refused", func(w *world) {
		w.refuses(newThing(""), "key")
	}},
	{"Get of a key that nobody has is ErrNotFound", func(w *world) {
		w.insert(newThing("a"))
		w.tx(func(tx driver.Tx) error {
			_, err := w.things.Get(w.ctx, tx, "", "b")
			w.is("Get", err, driver.ErrNotFound)
			return nil
		})
	}},
}}

var scopeTheme = theme{name: "scopes", sentences: []sentence{
	{"equal keys in two scopes never meet", scopesNeverMeet},
	{"scopes are compared byte by byte", func(w *world) {
		for _, scope := range spellings {
			w.insert(scoped(driver.Scope(scope), "a"))
		}
		for _, scope := range spellings {
			rows := w.find(driver.Scope(scope), driver.Query{Limit: 10})
			if len(rows) != 1 || rows[0].Scope != driver.Scope(scope) {
				w.Errorf("scope %q has %d rows", scope, len(rows))
			}
		}
	}},
	{"Everywhere reads across tenants", func(w *world) {
		w.insert(scoped("", "a"), scoped("one", "a"), scoped("two", "b"))
		w.same("rows", len(w.findEverywhere(driver.Query{Limit: 10})), 3)
		w.same("rows named a", len(w.findEverywhere(driver.Query{Where: []driver.Cond{driver.Eq("key", "a")}, Limit: 10})), 2)
		w.same("count", w.countEverywhere(10), 3)
		w.same("count of one", w.count("one", 10), 1)
	}},
	{"GetMany reads rows of several scopes by their keys", getsMany},
	{"GetMany reads each row once, and columns if they are named", func(w *world) {
		rows := []*thing{scoped("one", "a"), scoped("two", "a")}
		for _, r := range rows {
			r.Name, r.Amount = "Ann", 3
		}
		w.insert(rows...)
		one, two := driver.Place{Scope: "one", Key: "a"}, driver.Place{Scope: "two", Key: "a"}
		for _, places := range [][]driver.Place{{one, one}, {two, one, two}} {
			for _, r := range w.many(places, "amount") {
				w.same("amount and name", []any{r.Amount, r.Name, r.Version}, []any{int64(3), "", int64(0)})
			}
			w.same("rows", len(w.many(places)), len(places)-1)
		}
		w.same("whole", w.many([]driver.Place{one, two})[two], rows[1])
	}},
	{"GetMany passes over keys that no row can have", func(w *world) {
		w.insert(scoped("one", "a"), scoped("two", "a"))
		w.same("none", len(w.many([]driver.Place{{Scope: "one", Key: "\x00"}, {Scope: "two", Key: "\xff"}})), 0)
		w.same("one", len(w.many([]driver.Place{{Scope: "one", Key: "a\x00"}, {Scope: "two", Key: "a"}})), 1)
		w.same("nothing asked", len(w.many(nil)), 0)
	}},
	{"GetMany takes thousands of places", func(w *world) {
		w.insert(scoped("one", "3"), scoped("two", "3000"), scoped("two", "3"))
		var places []driver.Place
		for i := range 4000 {
			places = append(places, driver.Place{Scope: []driver.Scope{"one", "two"}[i%2], Key: fmt.Sprint(i)})
		}
		w.same("rows", len(w.many(places)), 1)
	}},
	{"a row is not written to a scope that cannot be stored", func(w *world) {
		w.refuses(scoped("\x00any", "a"), "scope")
	}},
	{"such a scope is not read either, and the transaction goes on", noSuchScope},
}}

// noSuchScope reads scopes with which a statement would fail on PostgreSQL, and
// would end the transaction.
func noSuchScope(w *world) {
	w.insert(scoped("", "a"), scoped("one", "a"))
	for _, scope := range []driver.Scope{"\x00", "\x00any", "one\x00", "\xff"} {
		w.tx(func(tx driver.Tx) error {
			_, found := w.things.Find(w.ctx, tx, scope, driver.Query{Limit: 10})
			_, got := w.things.Get(w.ctx, tx, scope, "a")
			_, counted := w.things.Count(w.ctx, tx, scope, 10)
			_, tallied := w.things.Tally(w.ctx, tx, scope, driver.Tally{OrderBy: "id", Limit: 10})
			_, many := w.things.GetMany(w.ctx, tx, []driver.Place{{Scope: "one", Key: "a"}, {Scope: scope, Key: "a"}})
			for what, err := range map[string]error{"Find": found, "Get": got, "GetMany": many, "Count": counted, "Tally": tallied} {
				refused := (*driver.ValueError)(nil)
				if !errors.As(err, &refused) || refused.Column != "scope" {
					w.Errorf("%s in %q: %v", what, scope, err)
				}
			}
			_, err := w.things.Get(w.ctx, tx, "one", "a")
			return err
		})
	}
}

// getsMany tells pairs apart that only look alike.
func getsMany(w *world) {
	at := func(scope driver.Scope, key string) driver.Place { return driver.Place{Scope: scope, Key: key} }
	var stored []driver.Place
	for _, text := range []string{"a", "A", "a,b", `a"b`, "a\\b", "{}", "NULL", "?", "\u00e4", "<\u2028>"} {
		stored = append(stored, at("one", text), at(driver.Scope("s"+text), "key"))
	}
	for _, p := range stored {
		w.insert(scoped(p.Scope, p.Key))
	}
	found := w.many(append(stored, at("", "key"), at("one", "key"), at("sa", "a"), at("SA", "key")))
	w.same("rows", len(found), len(stored))
	for _, p := range stored {
		if r := found[p]; r == nil || r.Scope != p.Scope || r.Key != p.Key {
			w.Errorf("at %q, %q is %v", p.Scope, p.Key, r)
		}
	}
	w.same("rows of one scope", len(w.many([]driver.Place{at("one", "a"), at("one", "A"), at("one", "nobody")})), 2)
}

// many gives the rows at places.
func (w *world) many(places []driver.Place, columns ...string) (rows map[driver.Place]*thing) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		rows, err = w.things.GetMany(w.ctx, tx, places, columns...)
		return err
	})
	return rows
}

func scoped(scope driver.Scope, key string) *thing {
	r := newThing(key)
	r.Scope = scope
	return r
}

func scopesNeverMeet(w *world) {
	w.insert(scoped("one", "a"), scoped("two", "a"), scoped("", "a"))
	one := w.find("one", driver.Query{Where: []driver.Cond{driver.Eq("key", "a")}, Limit: 10})
	w.same("rows of one", len(one), 1)
	one[0].Name = "changed"
	w.same("stale", w.save(one...), []int(nil))
	for _, r := range w.all() {
		w.same("name in scope "+string(r.Scope), r.Name == "changed", r.Scope == "one")
	}
	w.same("stale", w.remove(one...), []int(nil))
	w.same("rows left in one", w.count("one", 10), 0)
	w.same("rows left in two", w.count("two", 10), 1)
}
