package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"github.com/belfry-go/belfry/internal/contender"
)

const batch = 1000

// args are about as large as Belfry's key and source.
type args struct {
	Source string `json:"source"`
}

func (args) Kind() string { return "bench" }

// fill makes the task's rows in one transaction.
func fill(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	db, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer db.Close()
	client, err := river.NewClient(riversqlite.New(db), &river.Config{Logger: quiet()})
	if err != nil {
		return contender.Result{}, err
	}
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return contender.Result{}, err
	}
	defer tx.Rollback()
	if err := insert(ctx, client, tx, t); err != nil {
		return contender.Result{}, err
	}
	if err := tx.Commit(); err != nil {
		return contender.Result{}, err
	}
	return contender.Between(t.Rows, began, contender.Clock.Now()), nil
}

func insert(ctx context.Context, client *river.Client[*sql.Tx], tx *sql.Tx, t contender.Task) error {
	for n := 0; n < t.Rows; n += batch {
		params := make([]river.InsertManyParams, min(batch, t.Rows-n))
		for i := range params {
			params[i].Args = args{fmt.Sprintf("employee:e2c9f0b4-51d7-4a61-8f0e-%012d", t.From+n+i)}
		}
		if _, err := client.InsertManyFastTx(ctx, tx, params); err != nil {
			return err
		}
	}
	return nil
}
