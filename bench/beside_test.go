package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	belfrypgx "github.com/belfry-go/belfry/storage/pgx"
)

type thumbnail struct {
	Photo string `json:"photo"`
}

func (thumbnail) Kind() string { return "thumbnail" }

// riverOn is a client of River's on a database of the test's own.
func riverOn(t *testing.T) (*pgxpool.Pool, *river.Client[pgx.Tx]) {
	t.Helper()
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return pool, jobs
}

type remindArgs struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
}

func (remindArgs) Kind() string { return "remind" }

// A date that moves leaves the job of the old date behind: docs/migrating.md says so.
func TestAJobOfRiverStaysWhenItsDateMoves(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), "first-aid"
	pool, jobs := riverOn(t)
	for _, expires := range []time.Time{time.Date(2099, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 6, 1, 0, 0, 0, 0, time.UTC)} {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := jobs.InsertTx(ctx, tx, remindArgs{ID: id, Expires: expires}, &river.InsertOpts{ScheduledAt: expires.AddDate(0, 0, -30)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var scheduled int
	err := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'scheduled'").Scan(&scheduled)
	if err != nil || scheduled != 2 {
		t.Errorf("%d jobs are scheduled, want the old one too: %v", scheduled, err)
	}
}

// A program that has River keeps it: a job of River's and a reminder of ours commit
// together, or not at all. docs/comparing.md shows the transaction.
func TestRiverBesideBelfryInOneTransaction(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool, jobs := riverOn(t)
	store, err := belfrypgx.New(ctx, pool, &belfrypgx.Options{Migrate: belfrypgx.MigrateAuto})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	reminders := automation.New(store, notify.New(store, nil), nil)
	reminders.Register(automation.ReminderType{
		Name: "lesson", Template: notify.Template{Subject: "{{.Source.ID}}"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
	})
	about := automation.About{ID: "42"}
	wish := automation.Candidate{TargetDate: automation.Date{Year: 2099, Month: 5, Day: 1}, DaysBefore: 1, SendAt: "09:00", Zone: "UTC"}

	count := func() (work, wishes int) {
		t.Helper()
		if err := pool.QueryRow(ctx, "SELECT count(*) FROM river_job").Scan(&work); err != nil {
			t.Fatal(err)
		}
		if err := pool.QueryRow(ctx, "SELECT count(*) FROM automation_scheduler").Scan(&wishes); err != nil {
			t.Fatal(err)
		}
		return work, wishes
	}
	both := func(ctx context.Context, tx pgx.Tx, bound storage.Tx) error {
		if _, err := jobs.InsertTx(ctx, tx, thumbnail{Photo: "42.jpg"}, nil); err != nil { // work: as soon as may be
			return err
		}
		_, err := reminders.Type("lesson").In(bound).Set(ctx, about, wish) // a date: when it is due
		return err
	}
	undone := func(ctx context.Context, tx pgx.Tx, bound storage.Tx) error {
		if err := both(ctx, tx, bound); err != nil {
			t.Error(err)
		}
		return context.Canceled
	}
	if err := store.InHostTx(ctx, undone); err == nil {
		t.Error("a function that fails has to undo both")
	}
	if work, wishes := count(); work != 0 || wishes != 0 {
		t.Errorf("after a transaction that was undone: %d jobs, %d reminders", work, wishes)
	}
	err = store.InHostTx(ctx, both)
	if err != nil {
		t.Fatal(err)
	}
	if work, wishes := count(); work != 1 || wishes != 1 {
		t.Errorf("after a commit: %d jobs, %d reminders, want one of each", work, wishes)
	}
}
