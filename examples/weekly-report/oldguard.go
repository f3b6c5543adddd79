package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"
)

// guardSQL and overdueSQL stand in docs/migrating.md.
const (
	guardSQL = `
INSERT INTO report_run_ownership AS o
  (scope, key, type, status, version, lane, claim_token, abandoned, owner_type, owner_version,
   coordinates, business_unit, setting, source_type, source, old_ran_on, run_on, ended_on, stage)
VALUES
  (:scope, :key, :type, 'DeliveryCreated', 1, 0, '', false, 'OldScheduler', 1,
   :coordinates, :unit, :setting, '', '', :now, :now, :now, 0)
ON CONFLICT (scope, key) DO UPDATE SET
  status = 'DeliveryCreated', version = o.version + 1, coordinates = excluded.coordinates,
  old_ran_on = excluded.old_ran_on, ended_on = excluded.ended_on
WHERE o.owner_type = 'OldScheduler' AND o.status = 'Owned'
RETURNING key;
`
	overdueSQL = `
SELECT key, run_on FROM report_run_ownership
WHERE scope = :scope AND type = :type AND run_on <= :now AND owner_type = 'OldScheduler' AND status = 'Owned' AND ended_on IS NULL
ORDER BY run_on;
`
)

type args map[string]any

// guard marks a run as delivered by the old scheduler, and tells whether it may
// deliver it. Only with the commit of tx is that so.
func (o *oldScheduler) guard(ctx context.Context, tx *sql.Tx, j job, key string, now time.Time) (granted bool, err error) {
	coordinates, err := json.Marshal(map[string]string{"outbox": key})
	if err != nil {
		return false, err
	}
	query, values, err := o.bind(guardSQL, args{
		"scope": "", "key": key, "type": reportType, "unit": j.unit, "setting": "report-subscription",
		"coordinates": string(coordinates), "now": o.moment(now),
	})
	if err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, query, values...).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// overdue lists the old scheduler's runs that it has not delivered.
func (o *oldScheduler) overdue(ctx context.Context, now time.Time) (keys []string, err error) {
	err = o.each(ctx, overdueSQL, args{"scope": "", "type": reportType, "now": o.moment(now)}, func(rows *sql.Rows) error {
		var key string
		var runOn any
		err := rows.Scan(&key, &runOn)
		keys = append(keys, key)
		return err
	})
	return keys, err
}

// moment is how a time is kept in the guard.
func (o *oldScheduler) moment(t time.Time) any {
	if o.dialect == "postgres" {
		return t
	}
	return t.UnixMicro()
}

// bind replaces :names by what the driver wants.
func (o *oldScheduler) bind(query string, with args) (string, []any, error) {
	text, values, err := sqlx.Named(query, map[string]any(with))
	return sqlx.Rebind(sqlx.BindType(o.dialect), text), values, err
}

func (o *oldScheduler) each(ctx context.Context, query string, with args, scan func(*sql.Rows) error) error {
	query, values, err := o.bind(query, with)
	if err != nil {
		return err
	}
	rows, err := o.db.QueryContext(ctx, query, values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
