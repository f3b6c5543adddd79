package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/internal/pgtest"
)

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
