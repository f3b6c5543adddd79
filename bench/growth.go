package main

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/internal/contender"
)

// growth asks what a row costs at the head of a long backlog, and behind a long
// history, against a table that holds nothing else. The rows that are timed are
// as many in each.
func (a *arena) growth(s sizes) match {
	worlds := &worlds{a: a, sizes: s, made: map[string]string{}}
	play := func(name string, start func(ctx context.Context) (string, error)) side {
		return side{name: name, play: func(ctx context.Context) (map[string]float64, error) {
			v, err := worlds.cost(ctx, start)
			return map[string]float64{perRow: v}, err
		}}
	}
	return match{
		title: "P6",
		sides: []side{
			play("alone", worlds.fresh(s.small)), play("tenth", worlds.fresh(s.large/10)), play("backlog", worlds.backlog),
			play("history", worlds.history), play("random", worlds.random),
		},
		goals: []goal{{
			id: "P6", about: "cost of a row, long table against short", unit: "x", floor: 1, target: growthBound / 1.3,
			judge: s.grown,
		}},
	}
}

const (
	perRow      = "us/row"
	growthBound = 1.5
)

// grown judges the worse of backlog and history. Beside it are all costs as
// multiples of the one alone, and how many rows the tables had.
func (s sizes) grown(all map[string]scores) verdict {
	alone := all["alone"][perRow]
	against := func(side string) []float64 { return quotients(all[side][perRow], alone) }
	worst := against("backlog")
	if history := against("history"); median(history) > median(worst) {
		worst = history
	}
	v := bounded(worst, growthBound)
	v.also = map[string]float64{
		"alone_us/row": median(alone), "alone_rows": float64(s.small),
		"tenth_backlog": median(against("tenth")), "tenth_rows": float64(s.large / 10),
		"backlog": median(against("backlog")), "history": median(against("history")),
		"random_order_backlog": median(against("random")), "rows": float64(s.large),
	}
	return v
}

// worlds are the long tables, made when they are first needed.
type worlds struct {
	a     *arena
	sizes sizes
	made  map[string]string
	from  int // rows that rounds have added to the history
}

// cost drains the small number of rows from a database, in microseconds each.
func (w *worlds) cost(ctx context.Context, start func(ctx context.Context) (string, error)) (cost float64, err error) {
	dsn, err := start(ctx)
	if err != nil {
		return 0, err
	}
	if err := w.a.exec(ctx, dsn, "CHECKPOINT"); err != nil {
		return 0, err
	}
	t := contender.Task{Database: dsn, Rows: w.sizes.small, Handlers: w.sizes.handlers, AtLeast: true}
	rate, err := w.a.drain(ctx, us, 1, t)
	if err == nil && !slices.Contains(slices.Collect(maps.Values(w.made)), dsn) {
		err = w.a.drop(ctx, dsn)
	}
	return 1e6 / rate, err
}

// world makes a database once, by filling and perhaps draining it.
func (w *worlds) world(ctx context.Context, name string, make func(dsn string) error) (string, error) {
	if dsn := w.made[name]; dsn != "" {
		return dsn, nil
	}
	dsn, err := w.a.postgres()
	if err == nil {
		err = errors.Join(make(dsn), w.a.settle(ctx, dsn))
	}
	w.made[name] = dsn
	return dsn, err
}

func (w *worlds) fill(ctx context.Context, dsn string, rows, from int, order string) error {
	_, err := w.a.run(ctx, us, contender.Task{Work: "fill", Database: dsn, Rows: rows, From: from, Order: order})
	return err
}

// fresh makes a database of so many due rows for each round.
func (w *worlds) fresh(rows int) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		dsn, err := w.a.postgres()
		if err == nil {
			err = errors.Join(w.fill(ctx, dsn, rows, 0, ""), w.a.settle(ctx, dsn))
		}
		return dsn, err
	}
}

// backlog is a long table of due rows, from whose head a few are taken.
func (w *worlds) backlog(ctx context.Context) (string, error) {
	return w.world(ctx, "backlog", func(dsn string) error { return w.fill(ctx, dsn, w.sizes.large, 0, "") })
}

func (w *worlds) random(ctx context.Context) (string, error) {
	return w.world(ctx, "random", func(dsn string) error { return w.fill(ctx, dsn, w.sizes.large, 0, "random") })
}

// history is a long table of rows that are done, with a few due ones.
func (w *worlds) history(ctx context.Context) (string, error) {
	dsn, err := w.world(ctx, "history", func(dsn string) error {
		if err := w.fill(ctx, dsn, w.sizes.large, 0, ""); err != nil {
			return err
		}
		_, err := w.a.drain(ctx, us, 1, contender.Task{Database: dsn, Rows: w.sizes.large, Handlers: w.sizes.handlers})
		return err
	})
	if err != nil {
		return "", err
	}
	w.from += w.sizes.small
	return dsn, w.fill(ctx, dsn, w.sizes.small, w.sizes.large+w.from, "")
}

// ensures inserts rows by their unique keys, and then the same rows again; Belfry
// also in an order in which neighbours in a call are none in its index.
func (a *arena) ensures(s sizes) match {
	play := func(name string) side {
		return side{name: name, play: func(ctx context.Context) (map[string]float64, error) {
			return a.ensureAgain(ctx, name, contender.Task{Work: "ensure", Rows: s.drain})
		}}
	}
	fresh := goal{id: "P3-new", about: "bulk ensure, all new", unit: rate, floor: 1.3, target: 1.5, judge: ahead("new", "river")}
	return match{title: "P3", sides: []side{play(us), play(usOnPgx), play("river")}, goals: []goal{
		fresh, throughPgx(fresh, "new"),
		{id: "P3-existing", about: "bulk ensure, all existing", unit: rate, floor: 3, target: 4, judge: with(ahead("existing", "river"), func(all map[string]scores) map[string]float64 {
			return map[string]float64{"scattered_rows/s": median(all[us]["scattered"])}
		})},
	}}
}

func (a *arena) ensureAgain(ctx context.Context, name string, t contender.Task) (map[string]float64, error) {
	return a.within(ctx, a.postgres, func(database string) (map[string]float64, error) {
		t.Database = database
		values := map[string]float64{}
		figures := []string{"new", "existing"}
		if name == us {
			figures = append(figures, "scattered")
		}
		for _, figure := range figures {
			if t.Order = ""; figure == "scattered" {
				t.Order = figure
			}
			r, err := a.run(ctx, name, t)
			if err != nil {
				return nil, err
			}
			values[figure] = float64(t.Rows) / r.Seconds()
			if err := a.settle(ctx, database); err != nil {
				return nil, err
			}
		}
		return values, nil
	})
}

// longTransaction drains a backlog while another session keeps a snapshot open,
// so that no dead row version can be removed.
func (a *arena) longTransaction(s sizes) match {
	play := func(name string, snapshot bool) side {
		return side{name: name, long: true, play: func(ctx context.Context) (map[string]float64, error) {
			return a.drainBeside(ctx, snapshot, contender.Task{Rows: s.long, Handlers: s.handlers})
		}}
	}
	return match{title: "P7", sides: []side{play("free", false), play("beside", true)}, goals: []goal{{
		id: "P7", about: "claim p99 beside a long transaction", unit: "x", floor: 1, target: 6.0 / 2,
		judge: func(all map[string]scores) verdict {
			v := bounded(quotients(all["beside"]["claim_p99_ms"], all["free"]["claim_p99_ms"]), 6)
			share := median(quotients(all["beside"][rate], all["free"][rate]))
			v.ratio = min(v.ratio, share/0.6)
			v.also = map[string]float64{
				"throughput_share": share, "free_rows/s": median(all["free"][rate]), "beside_rows/s": median(all["beside"][rate]),
				"free_p99_ms": median(all["free"]["claim_p99_ms"]), "beside_p99_ms": median(all["beside"]["claim_p99_ms"]),
			}
			return v
		},
	}}}
}

func (a *arena) drainBeside(ctx context.Context, snapshot bool, t contender.Task) (map[string]float64, error) {
	return a.within(ctx, a.postgres, func(database string) (values map[string]float64, err error) {
		t.Database = database
		if err := a.fill(ctx, us, t); err != nil {
			return nil, err
		}
		if snapshot {
			var end func() error
			if end, err = openSnapshot(ctx, database); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, end()) }()
		}
		results, rows, err := a.drainAll(ctx, us, 1, t)
		if err != nil {
			return nil, err
		}
		results[0].Values[rate] = float64(rows) / span(results).Seconds()
		return results[0].Values, nil
	})
}

// openSnapshot begins a transaction that sees the database as it is now, until
// it is ended.
func openSnapshot(ctx context.Context, dsn string) (end func() error, err error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err == nil {
		_, err = tx.ExecContext(ctx, "SELECT txid_current()")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func() error { return errors.Join(tx.Rollback(), db.Close()) }, nil
}

// inMemory claims and saves with the verbs of the memory adapter.
func (a *arena) inMemory(s sizes) match {
	return match{title: "P11", sides: []side{{name: us, play: func(ctx context.Context) (map[string]float64, error) {
		r, err := a.run(ctx, us, contender.Task{Work: "memory", Rows: s.memory})
		return map[string]float64{rate: float64(r.Rows) / r.Seconds()}, err
	}}}, goals: []goal{{
		id: "P11", about: "memory adapter, claim and settle", unit: rate, floor: 1, target: 1e6 / 4e5,
		judge: func(all map[string]scores) verdict {
			v := bounded(all[us][rate], 400_000)
			v.name, v.ratio = "floor", v.belfry/400_000
			return v
		},
	}}}
}
