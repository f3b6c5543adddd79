package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// shadows looks at the rows of stage 0.
func (s *story) shadows(ctx context.Context) error {
	const look = `select key, status, reason_code, scheduled_on from automation_scheduler limit 20`
	seen := map[string]int{}
	err := s.old.each(ctx, look, args{}, func(rows *sql.Rows) error {
		var key, status, reason string
		var on any
		err := rows.Scan(&key, &status, &reason, &on)
		seen[status+", "+reason]++
		return err
	})
	for kind, n := range seen {
		s.happens("%d rows are %s", n, kind)
	}
	if err == nil && len(seen) != 1 {
		err = fmt.Errorf("all should be in shadow: %v", seen)
	}
	return err
}

// rehearse runs the guard in a transaction that is rolled back.
func (o *oldScheduler) rehearse(ctx context.Context, now time.Time) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	granted, err := o.guard(ctx, tx, o.jobs[0], "report-subscription:"+o.jobs[0].guid+":scheduled:2026-02-23T09:00:00Z", now)
	if err == nil && !granted {
		err = errors.New("the guard should grant a run in shadow")
	}
	return errors.Join(err, tx.Rollback())
}
