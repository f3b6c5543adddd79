package pgx_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	belfrypgx "github.com/belfry-go/belfry/storage/pgx"
)

// A certificate and its reminder in one pgx.Tx. Queries that sqlc made run in it too:
// queries.New(tx).RenewCertificate(ctx, "first-aid").
func ExampleStore_InHostTx() {
	ctx, clk := context.Background(), clock.NewMock() // a real program leaves the clock out
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store, err := belfrypgx.Open(ctx, os.Getenv("DATABASE_URL"), &belfrypgx.Options{Clock: clk})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name:     "certificate",
		Template: notify.Template{Subject: "Your {{.Source.ID}} certificate expires on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
		}),
	})

	err = store.InHostTx(ctx, func(ctx context.Context, tx pgx.Tx, bound storage.Tx) error {
		if _, err := tx.Exec(ctx, "CREATE TABLE certificate (name text, expires_on date)"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO certificate VALUES ($1, $2)", "first-aid", "2026-05-01"); err != nil {
			return err
		}
		_, err := reminders.Type("certificate").In(bound).Set(ctx, automation.About{ID: "first-aid", SourceType: "employee"}, automation.Candidate{
			TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30, SendAt: "09:00", Zone: "Europe/Dublin"})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	poller := belfry.NewPoller(store, nil, reminders, out)
	clk.Add(40 * 24 * time.Hour)
	fmt.Println(poller.Drain(ctx)) // poller.Run(ctx) in earnest
}

// The example needs a server, so it is run here.
func TestExampleOfAHostsTransaction(t *testing.T) {
	testlevel.Need(t, testlevel.Check)
	t.Setenv("DATABASE_URL", pgtest.DSN(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	ExampleStore_InHostTx()
	os.Stdout = stdout
	_ = w.Close()
	got, err := io.ReadAll(r)
	const want = "sam@example.com - Your first-aid certificate expires on 2026-05-01\n<nil>\n"
	if err != nil || string(got) != want {
		t.Errorf("printed %q: %v", got, err)
	}
}

// A store on the pool that the host has already: migrations are the host's to run.
func ExampleNew() {
	ctx := context.Background()
	store, err := belfrypgx.New(ctx, hostsPool(ctx), &belfrypgx.Options{Migrate: belfrypgx.MigrateVerify})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // the pool stays open
}

func hostsPool(ctx context.Context) *pgxpool.Pool {
	pool, err := pgxpool.New(ctx, "postgres://app@db/app")
	if err != nil {
		log.Fatal(err)
	}
	return pool
}
