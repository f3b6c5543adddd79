package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/belfry-go/belfry/internal/contender"
)

const crowdName, crowdSize = "crowd", 8

// crowd drains one database with eight processes of Belfry, and looks afterwards
// for what they did to each other.
func (a *arena) crowd(t contender.Task) side {
	return side{name: crowdName, play: func(ctx context.Context) (map[string]float64, error) {
		return a.within(ctx, a.postgres, func(database string) (map[string]float64, error) {
			t.Database = database
			if err := a.fill(ctx, us, t); err != nil {
				return nil, err
			}
			r, err := a.drain(ctx, us, crowdSize, t)
			if err != nil {
				return nil, err
			}
			again, deadlocks, err := a.harm(ctx, database)
			return map[string]float64{rate: r, "double_claims": again, "deadlocks": deadlocks}, err
		})
	}}
}

// crowded is the crowd's rate, and the worst of the rounds.
func crowded(all map[string]scores) map[string]float64 {
	crowd := all[crowdName]
	return map[string]float64{
		"eight_processes_rows/s":        median(crowd[rate]),
		"eight_processes_double_claims": contender.Quantile(crowd["double_claims"], 1),
		"eight_processes_deadlocks":     contender.Quantile(crowd["deadlocks"], 1),
	}
}

// harm counts the rows that were not inserted, claimed once and settled once, each
// of which is a version, and the deadlocks in a database that its processes have
// left. A row that was lost and one that was handled twice would hide each other
// from a count of what was handled; here they are two.
func (a *arena) harm(ctx context.Context, database string) (again, deadlocks float64, err error) {
	db, err := sql.Open("postgres", database)
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	if err := alone(ctx, db); err != nil {
		return 0, 0, err
	}
	row := db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM automation_scheduler WHERE version <> 3),
		deadlocks FROM pg_stat_database WHERE datname = current_database()`)
	err = row.Scan(&again, &deadlocks)
	return again, deadlocks, err
}

// alone waits until the other sessions have ended: what a session counts is
// certain to be in the statistics then, not before.
func alone(ctx context.Context, db *sql.DB) error {
	for {
		var others int
		row := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`)
		if err := row.Scan(&others); err != nil || others == 0 {
			return err
		}
		contender.Clock.Sleep(10 * time.Millisecond)
	}
}
