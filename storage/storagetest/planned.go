package storagetest

import (
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// planned is a row of which workers see a part.
type planned struct {
	storage.Record
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
		w.tx(func(tx storage.Tx) error { return p.table.Settle(w.ctx, tx, claimed...) })
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
		w.tx(func(tx storage.Tx) error { return p.table.Save(w.ctx, tx, claimed) })
		want := *claimed
		want.MadeOn, want.Origin = row.MadeOn, row.Origin
		w.same("stored", p.stored(row.Key), &want)
	}},
	{"Settle tells of stale rows as Save does", func(w *world) {
		p := w.plans()
		p.insert(2)
		claimed := p.claim(2)
		claimed[0].Version--
		stale := w.swap(func(tx storage.Tx) error { return p.table.Settle(w.ctx, tx, claimed...) })
		w.same("stale", stale, []int{0})
	}},
}}

type plans struct {
	*world
	table *storage.Table[planned]
}

// plans is an empty table, of which the adapter sees a claim first.
func (w *world) plans() *plans {
	w.Helper()
	p := &plans{w, storage.Define[planned](w.things.Name + "_planned")}
	w.in.createTable(w.T, &p.table.Schema)
	w.same("rows of an empty table", len(p.claim(1)), 0)
	return p
}

func (p *plans) insert(n int) []*planned {
	p.Helper()
	rows := make([]*planned, n)
	for i := range rows {
		rows[i] = &planned{
			Record: storage.Record{Key: fmt.Sprintf("%03d", i), Status: ready, DueOn: at(i)},
			Name:   "new", Note: fmt.Sprint(i), SeenOn: at(i), Labels: map[string]string{"k": fmt.Sprint(i)},
			MadeOn: at(i), Origin: "suite",
		}
	}
	p.tx(func(tx storage.Tx) error {
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

func (p *plans) take(c storage.Claim) (rows []*planned) {
	p.Helper()
	p.tx(func(tx storage.Tx) (err error) {
		rows, err = p.table.Claim(p.ctx, tx, c)
		return err
	})
	return rows
}

func (p *plans) stored(key string) (row *planned) {
	p.Helper()
	p.tx(func(tx storage.Tx) (err error) {
		row, err = p.table.Get(p.ctx, tx, "", key)
		return err
	})
	return row
}
