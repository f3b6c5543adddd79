package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
)

// What the old scheduler has learned so far.
type lesson int

const (
	silent lesson = iota // it knows of nobody
	tells                // it runs the guard's SQL after each run, whatever that answers
	asks                 // it runs it first, and keeps to the answer
)

// job is a line of the old scheduler's crontab.
type job struct {
	guid, unit, zone string
	weekday          time.Weekday
	hour             int
	html             bool
}

// oldScheduler is what sent the reports before: a crontab and an outbox. All it
// knows of Belfry is how a key is spelled, and the statements in oldguard.go.
type oldScheduler struct {
	db      *sql.DB
	dialect string
	jobs    []job
	knows   lesson
	off     bool
	refused func(unit string) // hears of each run that is somebody else's

	mails string
	sent  int
}

const oldOutbox = `CREATE TABLE old_outbox (run text, guid text, ran_on bigint, mailed bigint)`

func newOldScheduler(ctx context.Context, db *sql.DB, s settings) (*oldScheduler, error) {
	o := &oldScheduler{db: db, dialect: "sqlite3", mails: s.out}
	if s.dsn != "" {
		o.dialect = "postgres"
	}
	for _, b := range branches {
		for _, r := range reports {
			j := job{guid: b.name + "-" + r.name, unit: b.name, zone: b.zone, weekday: r.weekday, hour: r.hour, html: r.html}
			if b.name == "newyork" {
				j.zone = "EST" // somebody wrote this in winter
			}
			o.jobs = append(o.jobs, j)
		}
	}
	if _, err := db.ExecContext(ctx, oldOutbox); err != nil {
		return nil, fmt.Errorf("the old scheduler's outbox: %w", err)
	}
	return o, nil
}

// due tells whether cron starts the job in this minute.
func (j job) due(now time.Time) (bool, error) {
	zone, err := time.LoadLocation(j.zone)
	if err != nil {
		return false, err
	}
	local := now.In(zone)
	return local.Weekday() == j.weekday && local.Hour() == j.hour && local.Minute() == 0, nil
}

// tick starts the jobs of this minute, as cron does: what it misses is gone.
func (o *oldScheduler) tick(ctx context.Context, now time.Time) error {
	for _, j := range o.jobs {
		due, err := j.due(now)
		if err == nil && due && !o.off {
			err = o.run(ctx, j, o.knows, now, now)
		}
		if err != nil {
			return err
		}
	}
	return o.deliver(ctx)
}

// run puts a report into the outbox, with the guard in the same transaction.
func (o *oldScheduler) run(ctx context.Context, j job, knows lesson, scheduled, now time.Time) error {
	key, err := keys.ReportRun{Subscription: j.guid, On: scheduled}.Key()
	if err != nil {
		return err
	}
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if knows == asks {
		granted, err := o.guard(ctx, tx, j, key, now)
		if err != nil {
			return err
		}
		if !granted {
			o.refused(j.unit)
			return nil // nothing is created
		}
	}
	if err := o.queue(ctx, tx, j, key, now); err != nil {
		return err
	}
	if knows == tells {
		if _, err := o.guard(ctx, tx, j, key, now); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// catchUp does what the guard says nobody has done.
func (o *oldScheduler) catchUp(ctx context.Context, now time.Time) error {
	missed, err := o.overdue(ctx, now)
	if err != nil {
		return err
	}
	for _, key := range missed {
		j, scheduled, err := o.jobOf(key)
		if err == nil {
			err = o.run(ctx, j, asks, scheduled, now)
		}
		if err != nil {
			return err
		}
	}
	return o.deliver(ctx)
}

func (o *oldScheduler) jobOf(key string) (job, time.Time, error) {
	parsed, err := keys.Parse(key)
	if run, ok := parsed.(keys.ReportRun); ok {
		for _, j := range o.jobs {
			if j.guid == run.Subscription {
				return j, run.On, nil
			}
		}
	}
	return job{}, time.Time{}, fmt.Errorf("no job has the run %q: %v", key, err)
}
