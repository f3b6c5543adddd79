package storagetest

import (
	"errors"
	"fmt"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/storage/driver"
)

var modelTheme = theme{name: "model", sentences: []sentence{
	{"any sequence of verbs does what a simple model does", func(w *world) {
		tables := 0
		rapid.Check(w.T, func(t *rapid.T) {
			tables++
			m := &machine{w: w.with(w.T, fmt.Sprintf("model_%d", tables))}
			t.Repeat(map[string]func(*rapid.T){
				"insert":   m.insert,
				"claim":    m.claim,
				"settle":   m.save,
				"extend":   m.extend,
				"delete":   m.remove,
				"select":   m.find,
				"next":     m.next,
				"rollback": m.rollBack,
				"":         m.check,
			})
		})
	}},
}}

// machine does the same to a table and to its model.
type machine struct {
	w      *world
	model  model
	hands  []*thing // rows as somebody once read them
	tokens int
}

func (m *machine) tx(t *rapid.T, f func(tx driver.Tx) error) {
	t.Helper()
	if err := m.w.store.InTx(m.w.ctx, f); err != nil {
		t.Fatalf("InTx: %v", err)
	}
}

func same(t *rapid.T, what string, got, want any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-model +store):\n%s", what, diff)
	}
}

func (m *machine) insert(t *rapid.T) {
	rows := rapid.SliceOfN(rapid.Custom(someThing), 1, 4).Draw(t, "rows")
	var got []bool
	m.tx(t, func(tx driver.Tx) (err error) {
		got, err = m.w.things.Insert(m.w.ctx, tx, rows...)
		return err
	})
	for i, r := range rows {
		isNew := m.model.byKey(r.Scope, r.Key) == nil
		same(t, "inserted", got[i], isNew)
		if !isNew {
			continue
		}
		if r.ID == 0 || m.model.byID(r.ID) != nil || r.Version != 1 {
			t.Fatalf("new row has the id %d and version %d", r.ID, r.Version)
		}
		m.model.insert(r)
		m.hands = append(m.hands, r)
	}
}

func (m *machine) claim(t *rapid.T) {
	m.tokens++
	c := someClaim(t, m.tokens, m.hands)
	want := m.model.claim(c)
	var got []*thing
	m.tx(t, func(tx driver.Tx) (err error) {
		got, err = m.w.things.Claim(m.w.ctx, tx, c)
		return err
	})
	same(t, "claimed", got, want)
	m.hands = append(m.hands, got...)
}

// some picks rows from the hands, no row of the table twice.
func (m *machine) some(t *rapid.T) []*thing {
	if len(m.hands) == 0 {
		t.Skip("no rows")
	}
	id := func(r *thing) int64 { return r.ID }
	return rapid.SliceOfNDistinct(rapid.SampledFrom(m.hands), 1, 3, id).Draw(t, "rows")
}

func (m *machine) save(t *rapid.T) {
	rows := m.some(t)
	want := make([]bool, len(rows))
	versions := make([]int64, len(rows))
	for i, r := range rows {
		change(t, r)
		versions[i] = r.Version
		want[i] = m.model.save(r)
		if want[i] {
			versions[i]++
		}
	}
	var stale []bool
	m.tx(t, func(tx driver.Tx) (err error) {
		stale, err = tx.Update(m.w.ctx, &m.w.things.Schema, m.w.rows(rows))
		return err
	})
	for i, r := range rows {
		same(t, "written", !stale[i], want[i])
		same(t, "version in the row", r.Version, versions[i])
	}
}

func (m *machine) extend(t *rapid.T) {
	rows := m.some(t)
	until := someMoments.Draw(t, "until")
	var lost []bool
	m.tx(t, func(tx driver.Tx) (err error) {
		lost, err = m.w.things.Extend(m.w.ctx, tx, until, rows...)
		return err
	})
	for i, r := range rows {
		same(t, "extended", !lost[i], m.model.extend(r, until))
	}
}

func (m *machine) remove(t *rapid.T) {
	rows := m.some(t)
	var stale []bool
	m.tx(t, func(tx driver.Tx) (err error) {
		stale, err = tx.Delete(m.w.ctx, &m.w.things.Schema, m.w.rows(rows))
		return err
	})
	for i, r := range rows {
		same(t, "deleted", !stale[i], m.model.remove(r))
	}
}

func (m *machine) find(t *rapid.T) {
	reach := rapid.SampledFrom([]driver.ScopeFilter{
		driver.Within(""), driver.Within("one"), driver.Within("two"), driver.Everywhere(),
	}).Draw(t, "reach")
	filters := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) filter { return someFilters(t, 2) }), 0, 2).Draw(t, "filters")
	q := driver.Query{
		OrderBy: rapid.SampledFrom([]string{"", "key", "due_on", "note", "lane"}).Draw(t, "order"),
		Desc:    rapid.Bool().Draw(t, "desc"),
		Limit:   rapid.IntRange(1, 5).Draw(t, "limit"),
	}
	for _, f := range filters {
		q.Where = append(q.Where, f.cond)
	}
	var rows []*thing
	count := 0
	m.tx(t, func(tx driver.Tx) (err error) {
		rows, count, err = m.read(tx, reach, q)
		return err
	})
	want := m.model.find(reach, filters, q)
	same(t, "found", rows, want)
	same(t, "count", count, len(want))
	m.hands = append(m.hands, rows...)
}

// read finds and counts.
func (m *machine) read(tx driver.Tx, reach driver.ScopeFilter, q driver.Query) (rows []*thing, n int, err error) {
	ctx, things := m.w.ctx, m.w.things
	if scope, one := reach.Scope(); one {
		if rows, err = things.Find(ctx, tx, scope, q); err == nil {
			n, err = things.Count(ctx, tx, scope, q.Limit, q.Where...)
		}
		return rows, n, err
	}
	if rows, err = things.Everywhere().Find(ctx, tx, q); err == nil {
		n, err = things.Everywhere().Count(ctx, tx, q.Limit, q.Where...)
	}
	return rows, n, err
}

func (m *machine) next(t *rapid.T) {
	c := someClaim(t, 0, m.hands)
	for i := range c.Lanes {
		c.Lanes[i].Limit = 1
	}
	horizon := someMoments.Draw(t, "horizon")
	got, err := m.w.store.Next(m.w.ctx, &m.w.things.Schema, c, horizon)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	same(t, "next", got, m.model.next(c, horizon))
}

// rollBack does several things to copies and then thinks better of it.
func (m *machine) rollBack(t *rapid.T) {
	fresh := someThing(t)
	c := someClaim(t, 0, m.hands)
	var rows []*thing
	for _, r := range m.hands[:min(len(m.hands), 3)] {
		rows = append(rows, copyOf(r))
	}
	err := m.w.store.InTx(m.w.ctx, func(tx driver.Tx) error {
		_, inserted := m.w.things.Insert(m.w.ctx, tx, copyOf(fresh))
		_, claimed := m.w.things.Claim(m.w.ctx, tx, c)
		_, saved := tx.Update(m.w.ctx, &m.w.things.Schema, m.w.rows(rows))
		_, removed := tx.Delete(m.w.ctx, &m.w.things.Schema, m.w.rows(rows))
		return errors.Join(inserted, claimed, saved, removed, errRefused)
	})
	if !errors.Is(err, errRefused) || errors.Is(err, driver.ErrBusy) {
		t.Fatalf("InTx: %v", err)
	}
}

// check compares the whole table.
func (m *machine) check(t *rapid.T) {
	var rows []*thing
	m.tx(t, func(tx driver.Tx) (err error) {
		rows, err = m.w.things.Everywhere().Find(m.w.ctx, tx, driver.Query{Limit: 1000})
		return err
	})
	same(t, "rows", rows, append([]*thing{}, m.model.rows...))
}

// rows are things as a Tx takes them.
func (w *world) rows(things []*thing) []driver.Row {
	out := make([]driver.Row, len(things))
	for i, r := range things {
		out[i] = w.things.Row(r)
	}
	return out
}
