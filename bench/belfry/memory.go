package belfry

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	_ "github.com/lib/pq" // for the statements below
	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

type row struct {
	driver.Due
	Name string `db:"name"`
}

// verbs claims and saves rows of the memory adapter, batch after batch, until
// each row was settled ten times; what is settled goes to the end of the order.
func verbs(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, rows, now := memory.New(nil), driver.Define[row]("bench"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := 0; n < t.Rows; n += 1000 {
		err := store.InTx(ctx, func(tx storage.Tx) error {
			_, err := rows.Insert(ctx, tx, fresh(now, n, 1000)...)
			return err
		})
		if err != nil {
			return contender.Result{}, err
		}
	}
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	c := driver.Claim{
		Statuses: []string{"Pending"}, Busy: "Processing", Lanes: []driver.LaneClaim{{Limit: 500}},
		Now: now.AddDate(10, 0, 0), LeaseUntil: now.AddDate(10, 0, 1), Token: "token",
	}
	done := 0
	for done < 10*t.Rows {
		err := store.InTx(ctx, func(tx storage.Tx) error {
			got, err := rows.Claim(ctx, tx, c)
			if err != nil {
				return err
			}
			for i, r := range got {
				r.Status, r.LeaseExpiresOn, r.DueOn = "Pending", time.Time{}, now.Add(time.Duration(t.Rows+done+i)*time.Millisecond)
			}
			done += len(got)
			return rows.Save(ctx, tx, got...)
		})
		if err != nil {
			return contender.Result{}, err
		}
	}
	return contender.Between(done, began, contender.Clock.Now()), nil
}

func fresh(start time.Time, from, n int) []*row {
	rows := make([]*row, n)
	for i := range rows {
		rows[i] = &row{Name: "certificate", Due: driver.Due{
			Record: storage.Record{
				Key: fmt.Sprintf("reminder:certificate:employee:%032x:default:2026-05-01", from+i), Kind: "certificate", Status: "Pending",
			},
			DueOn: start.Add(time.Duration(from+i) * time.Millisecond),
		}}
	}
	return rows
}

// Bare is the database alone: each row that Belfry has filled is updated twice, as a
// claim and a settle do, a thousand at a time over two connections, with no row read and
// no coordination. It bounds what any queue on this table can do.
var Bare = map[string]contender.Work{"fill": insert, "drain": bare}

const (
	bareClaim = `UPDATE automation_scheduler SET status = 'Processing', version = version + 1, claim_token = 'bare',
		lease_expires_on = now() + interval '1 minute' WHERE id BETWEEN $1 AND $2`
	bareSettle = `UPDATE automation_scheduler SET status = 'Completed', version = version + 1, due_on = NULL,
		lease_expires_on = NULL, ended_on = now() WHERE id BETWEEN $1 AND $2`
)

func bare(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	db, err := sql.Open("postgres", t.Database)
	if err != nil {
		return contender.Result{}, err
	}
	defer db.Close()
	var first, last int
	if err := db.QueryRowContext(ctx, "SELECT min(id), max(id) FROM automation_scheduler").Scan(&first, &last); err != nil {
		return contender.Result{}, err
	}
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	var g errgroup.Group
	middle := (first + last) / 2
	g.Go(func() error { return updateTwice(ctx, db, run, first, middle) })
	g.Go(func() error { return updateTwice(ctx, db, run, middle+1, last) })
	if err := g.Wait(); err != nil {
		return contender.Result{}, err
	}
	return contender.Between(0, began, contender.Clock.Now()), nil
}

func updateTwice(ctx context.Context, db *sql.DB, run *contender.Run, first, last int) error {
	const batch = 1000
	for ; first <= last; first += batch {
		end := min(first+batch-1, last)
		if _, err := db.ExecContext(ctx, bareClaim, first, end); err != nil {
			return err
		}
		result, err := db.ExecContext(ctx, bareSettle, first, end)
		if err != nil {
			return err
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return err
		}
		run.Done(int(rows))
	}
	return nil
}
