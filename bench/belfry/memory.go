package belfry

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

type row struct {
	storage.Record
	Name string `db:"name"`
}

// verbs claims and saves rows of the memory adapter, batch after batch, until
// each row was settled ten times; what is settled goes to the end of the order.
func verbs(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, rows, now := memory.New(nil), storage.Define[row]("bench"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
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
	c := storage.Claim{
		Statuses: []string{"Pending"}, Busy: "Processing", Lanes: []storage.LaneClaim{{Limit: 500}},
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
		rows[i] = &row{Name: "certificate", Record: storage.Record{
			Key: fmt.Sprintf("reminder:certificate:employee:%032x:default:2026-05-01", from+i), Type: "certificate",
			Status: "Pending", DueOn: start.Add(time.Duration(from+i) * time.Millisecond),
		}}
	}
	return rows
}
