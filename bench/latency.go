package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage"
)

// latency measures the time from just before a row is inserted, by another
// process, to the start of its handler in an idle worker; and, of Belfry alone,
// in one that drains a long bulk lane while the inserted rows are urgent.
func (a *arena) latency(s sizes) match {
	t := contender.Task{Rows: s.samples, Handlers: s.handlers}
	play := func(name string) side {
		return side{name: name, play: func(ctx context.Context) (map[string]float64, error) {
			return a.within(ctx, a.postgres, func(database string) (map[string]float64, error) {
				return a.deliver(ctx, name, database, t)
			})
		}}
	}
	busy := side{name: busyName, long: true, play: func(ctx context.Context) (map[string]float64, error) {
		return a.within(ctx, a.postgres, func(database string) (map[string]float64, error) {
			return a.deliverUrgent(ctx, database, s.large, t)
		})
	}}
	return match{title: "P5", sides: []side{play(us), play("river"), busy}, goals: []goal{{
		id: "P5", about: "inserted to handler start, idle, p99", unit: "ms", floor: 1, target: 1,
		judge: with(below("p99_ms", "river"), waits),
	}}}
}

const busyName = "busy"

// waits are the medians beside P5's own. That a bulk row was left says that the
// urgent ones were never alone.
func waits(all map[string]scores) map[string]float64 {
	return map[string]float64{
		"p50_ms": median(all[us]["p50_ms"]), "river_p50_ms": median(all["river"]["p50_ms"]),
		"urgent_beside_bulk_p50_ms": median(all[busyName]["p50_ms"]), "urgent_beside_bulk_p99_ms": median(all[busyName]["p99_ms"]),
		"bulk_rows_left": contender.Quantile(all[busyName]["bulk_rows_left"], 0),
	}
}

// deliver lets one process of a side wait for the rows that another inserts.
func (a *arena) deliver(ctx context.Context, name, database string, t contender.Task) (map[string]float64, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the receiver if the sender fails
	defer cancel()
	t.Database, t.Work = database, "receive"
	receiver, err := contender.Start(ctx, a.command(name), t)
	if err != nil {
		return nil, err
	}
	var received []contender.Result
	var rows int
	var g errgroup.Group
	g.Go(func() (err error) {
		received, rows, err = together([]*contender.Process{receiver}, t.Rows, cancel)
		return err
	})
	t.Work = "send"
	if _, err = a.run(ctx, name, t); err != nil {
		cancel()
	}
	if err = errors.Join(err, g.Wait()); err == nil {
		err = exactly(name, rows, t)
	}
	if err != nil {
		return nil, err
	}
	return received[0].Values, nil
}

// deliverUrgent is deliver while the receiver has a long bulk lane to drain.
func (a *arena) deliverUrgent(ctx context.Context, database string, bulk int, t contender.Task) (map[string]float64, error) {
	if err := a.fill(ctx, us, contender.Task{Database: database, Rows: bulk, Lane: storage.LaneBulk}); err != nil {
		return nil, err
	}
	t.Lane = storage.LaneUrgent
	values, err := a.deliver(ctx, us, database, t)
	if err != nil {
		return nil, err
	}
	values["bulk_rows_left"], err = a.count(ctx, database, "SELECT count(*) FROM automation_scheduler WHERE due_on IS NOT NULL")
	return values, err
}

// idlePoller counts what a poller with nothing to do asks of the server.
func (a *arena) idlePoller(s sizes) match {
	seconds := s.idle
	return match{title: "P12", sides: []side{{name: us, long: true, play: func(ctx context.Context) (map[string]float64, error) {
		return idleCost(ctx, a, seconds)
	}}}, goals: []goal{{
		id: "P12", about: "idle poller, statements per interval and pass", unit: "statements", floor: 1, target: 1,
		judge: func(all map[string]scores) verdict {
			v := bounded(all[us]["statements"], 1)
			buffers := median(all[us]["buffers_per_poll"])
			v.also = map[string]float64{"buffers_per_poll": buffers, "buffers_goal": 5}
			return v
		},
	}}}
}

// idleCost watches a poller of four passes on a server that counts statements.
func idleCost(ctx context.Context, a *arena, seconds int) (values map[string]float64, err error) {
	server, err := pgtest.Launch(&pgtest.Options{Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Remove()) }()
	t := contender.Task{Work: "idle", Database: server.DSN()}
	p, err := contender.Start(ctx, a.command(us), t)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("postgres", server.DSN())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE EXTENSION pg_stat_statements"); err != nil {
		return nil, err
	}
	if err := p.Go(); err != nil {
		return nil, err
	}
	contender.Clock.Sleep(2 * time.Second) // what a start asks once
	if _, err := db.ExecContext(ctx, "SELECT pg_stat_statements_reset()"); err != nil {
		return nil, err
	}
	contender.Clock.Sleep(time.Duration(seconds) * time.Second)
	var calls, buffers float64
	row := db.QueryRowContext(ctx, `SELECT sum(calls), sum(shared_blks_hit + shared_blks_read) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`)
	if err := row.Scan(&calls, &buffers); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	if err := p.Stop(); err != nil {
		return nil, err
	}
	r, err := p.Wait(func(int) {})
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"statements":       calls / float64(seconds) / r.Values["passes"],
		"buffers_per_poll": buffers / calls,
	}, nil
}

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
