package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/belfry-go/belfry/internal/contender"
)

// longTransaction drains a backlog while another session keeps a snapshot open,
// so that no dead row version can be removed.
func (a *arena) longTransaction(s sizes) match {
	play := func(name string, snapshot bool) side {
		return side{name: name, long: true, play: func(ctx context.Context) (map[string]float64, error) {
			return a.drainBeside(ctx, snapshot, contender.Task{Rows: s.long, Handlers: s.handlers})
		}}
	}
	return match{title: "P7", sides: []side{play("free", false), play("beside", true)}, goals: []goal{{
		id: "P7", about: "claim p99 beside a long transaction", unit: "x", floor: 1, target: 4 / 1.5,
		judge: func(all map[string]scores) verdict {
			v := bounded(quotients(all["beside"]["claim_p99_ms"], all["free"]["claim_p99_ms"]), 4)
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
