package storagetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

var schemaTheme = theme{
	name:    "schemas",
	missing: func(h Harness) string { return h.NoInspect },
	sentences: []sentence{
		{"the tables of every store are there", func(w *world) { Schemas(w.T, w.in, driver.Schemas()...) }},
		{"the tables of the suite are there", func(w *world) { Schemas(w.T, w.in, &w.things.Schema) }},
	},
}

// Schemas compares tables of a live database with the structs that describe
// them: every column is there, of a type that holds its kind, and is NOT NULL
// exactly where the zero value is stored as a value; no other column makes an
// Insert fail; the indexes that the verbs need are there, and none that a claim
// would have to write. Columns and indexes beyond those are allowed, since the
// database may be newer than the code.
func Schemas(t *testing.T, in *Instance, schemas ...*driver.Schema) {
	t.Helper()
	for _, s := range schemas {
		live, err := in.Inspect(t.Context(), s)
		if err != nil {
			t.Errorf("table %s: %v", s.Name, err)
			continue
		}
		for _, problem := range slices.Concat(columnProblems(s, live), indexProblems(s, live)) {
			t.Errorf("table %s: %s", s.Name, problem)
		}
	}
}

func columnProblems(s *driver.Schema, live *LiveTable) (problems []string) {
	there := map[string]LiveColumn{}
	for _, c := range live.Columns {
		there[c.Name] = c
	}
	for _, c := range s.Columns {
		l, ok := there[c.Name]
		delete(there, c.Name)
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("column %s is missing", c.Name))
		case !slices.Contains(l.Kinds, c.Type):
			problems = append(problems, fmt.Sprintf("column %s cannot hold its kind", c.Name))
		case l.NotNull == c.Null:
			problems = append(problems, fmt.Sprintf("column %s is NOT NULL: %t, nullable in the struct: %t", c.Name, l.NotNull, c.Null))
		}
	}
	for name, l := range there {
		if l.NotNull && !l.Generated {
			problems = append(problems, fmt.Sprintf("column %s, which the struct lacks, makes every Insert fail", name))
		}
	}
	return problems
}

// written by Claim and Extend, hence in no index
var written = []string{"status", "version", "lease_expires_on", "claim_token", "abandoned"}

func indexProblems(s *driver.Schema, live *LiveTable) (problems []string) {
	key, due := false, false
	for _, x := range live.Indexes {
		isKey := x.Unique && !x.Partial && slices.Equal(x.Columns, []string{"scope", "key"})
		isID := slices.Equal(x.Columns, []string{"id"})
		key = key || isKey
		due = due || slices.Equal(x.Columns, []string{"lane", "due_on", "id"}) && x.Partial && len(x.Touches) == 0
		if x.Unique && !isKey && !isID {
			problems = append(problems, fmt.Sprintf("index %s is a second unique constraint", x.Name))
		}
		for _, column := range slices.Concat(x.Columns, x.Touches) {
			if slices.Contains(written, column) {
				problems = append(problems, fmt.Sprintf("index %s depends on %s, so that every claim writes it", x.Name, column))
			}
		}
	}
	if !key {
		problems = append(problems, "there is no unique index of (scope, key)")
	}
	if s.Due && !due {
		problems = append(problems, "there is no index of (lane, due_on, id) WHERE due_on IS NOT NULL")
	}
	return problems
}

// planned is a row of which workers see a part.
type planned struct {
	driver.Due
	Name   string            `db:"name"`
	Note   string            `db:"note,planned"`
	SeenOn time.Time         `db:"seen_on,planned"`
	Labels map[string]string `db:"labels,json,planned"`
	MadeOn time.Time         `db:"made_on,fixed,unclaimed"`
	Origin string            `db:"origin,fixed,unclaimed"`
}

var plannedTheme = theme{name: "planned", sentences: []sentence{
	{"a claim leaves out unclaimed columns, and nothing else", func(w *world) {
		p := w.plans()
		rows := p.insert(2)
		claimed := p.claim(2)
		for i, r := range rows {
			want := *r
			want.Version, want.ClaimToken, want.LeaseExpiresOn, want.Status = 2, "t", claimed[i].LeaseExpiresOn, busy
			w.same("stored", p.stored(r.Key), &want)
			want.MadeOn, want.Origin = time.Time{}, ""
			w.same("claimed", claimed[i], &want)
		}
	}},
	{"Settle leaves planned and unclaimed columns as they are stored", func(w *world) {
		p := w.plans()
		rows := p.insert(100)
		claimed := p.claim(100)
		for _, r := range claimed {
			r.Name, r.Note, r.SeenOn, r.Labels = "settled", "other", at(9), map[string]string{"k": "other"}
			r.Status, r.DueOn, r.LeaseExpiresOn = done, time.Time{}, time.Time{}
		}
		w.tx(func(tx driver.Tx) error { return p.table.Settle(w.ctx, tx, claimed...) })
		for i, r := range rows {
			want := *claimed[i]
			want.Version, want.Note, want.SeenOn, want.Labels, want.MadeOn, want.Origin = 3, r.Note, r.SeenOn, r.Labels, r.MadeOn, r.Origin
			w.same("stored", p.stored(r.Key), &want)
		}
	}},
	{"Save of a claimed row writes planned columns, and leaves unclaimed ones", func(w *world) {
		p := w.plans()
		row := p.insert(1)[0]
		claimed := p.claim(1)[0]
		claimed.Note, claimed.SeenOn, claimed.Labels = "other", at(9), map[string]string{"k": "other"}
		w.tx(func(tx driver.Tx) error { return p.table.Save(w.ctx, tx, claimed) })
		want := *claimed
		want.MadeOn, want.Origin = row.MadeOn, row.Origin
		w.same("stored", p.stored(row.Key), &want)
	}},
	{"Settle tells of stale rows as Save does", func(w *world) {
		p := w.plans()
		p.insert(2)
		claimed := p.claim(2)
		claimed[0].Version--
		stale := w.swap(func(tx driver.Tx) error { return p.table.Settle(w.ctx, tx, claimed...) })
		w.same("stale", stale, []int{0})
	}},
}}

type plans struct {
	*world
	table *driver.Table[planned]
}

// plans is an empty table, of which the adapter sees a claim first.
func (w *world) plans() *plans {
	w.Helper()
	p := &plans{w, driver.Define[planned](w.things.Name + "_planned")}
	w.in.createTable(w.T, &p.table.Schema)
	w.same("rows of an empty table", len(p.claim(1)), 0)
	return p
}

func (p *plans) insert(n int) []*planned {
	p.Helper()
	rows := make([]*planned, n)
	for i := range rows {
		rows[i] = &planned{
			Due:  driver.Due{Record: driver.Record{Key: fmt.Sprintf("%03d", i), Status: ready}, DueOn: at(i)},
			Name: "new", Note: fmt.Sprint(i), SeenOn: at(i), Labels: map[string]string{"k": fmt.Sprint(i)},
			MadeOn: at(i), Origin: "suite",
		}
	}
	p.tx(func(tx driver.Tx) error {
		_, err := p.table.Insert(p.ctx, tx, rows...)
		return err
	})
	return rows
}

func (p *plans) claim(n int) []*planned {
	p.Helper()
	c := due("t")
	c.Now, c.Lanes[0].Limit = at(1000), n
	return p.take(c)
}

func (p *plans) take(c driver.Claim) (rows []*planned) {
	p.Helper()
	p.tx(func(tx driver.Tx) (err error) {
		rows, err = p.table.Claim(p.ctx, tx, c)
		return err
	})
	return rows
}

func (p *plans) stored(key string) (row *planned) {
	p.Helper()
	p.tx(func(tx driver.Tx) (err error) {
		row, err = p.table.Get(p.ctx, tx, "", key)
		return err
	})
	return row
}

var environmentTheme = theme{
	name:    "environment",
	options: func(testing.TB) Options { return Options{Environment: "production"} },
	sentences: []sentence{
		{"a database keeps the first environment that it is given", func(w *world) {
			for range 2 {
				w.identity(w.store, "production", "production", false)
			}
			if w.h.NoSecondHandle == "" {
				w.identity(w.in.Second(w.T, "staging"), "production", "staging", true)
				w.identity(w.in.Second(w.T, ""), "production", "", false)
				w.identity(w.in.Second(w.T, "production"), "production", "production", false)
			}
		}},
		{"a database without an environment takes the next that is given", func(w *world) {
			in := w.h.open(w.T, Options{})
			w.identity(in.Store, "", "", false)
			if w.h.NoSecondHandle == "" {
				w.identity(in.Second(w.T, "production"), "production", "production", false)
				w.identity(in.Store, "production", "", false)
			}
		}},
	},
}

func (w *world) identity(store driver.Store, environment, given string, copied bool) {
	w.Helper()
	id, err := store.Identity(w.ctx)
	w.is("Identity", err, nil)
	w.same("environment", id.Environment, environment)
	w.same("given", id.Given, given)
	w.same("system", id.System, id.Present)
	w.same("copied", id.Copied(), copied)
}
