package belfry

import (
	"context"
	"database/sql"

	_ "github.com/lib/pq" // for the statements below
	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
)

// Bare is the database alone: each row that Belfry has filled is updated twice,
// as a claim and a settle do, a thousand at a time over two connections, with no
// row read and nobody to coordinate with. It bounds what any queue on this table
// can do.
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
