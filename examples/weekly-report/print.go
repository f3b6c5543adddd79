package main

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// print shows rows of three texts.
func (s *story) print(ctx context.Context, query string) error {
	return s.old.each(ctx, query, args{}, func(rows *sql.Rows) error {
		var row [3]string
		err := rows.Scan(&row[0], &row[1], &row[2])
		s.say("                  %s", strings.Join(row[:], "  "))
		return err
	})
}

// rehearse runs the guard in a transaction that is rolled back.
func (o *oldScheduler) rehearse(ctx context.Context, now time.Time) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = o.guard(ctx, tx, o.jobs[0], "report-subscription:rehearsal:manual:1", now)
	if back := tx.Rollback(); err == nil {
		err = back
	}
	return err
}
