package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/postgres"
)

// A store with a pool of its own: Open checks the server, runs the missing
// migrations, and bounds every call.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://app@db1,db2/app?sslmode=verify-full", &postgres.Options{
		Environment: "production",
		Schema:      "belfry",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fmt.Println(driver.Now(store)) // the server's time
}

// A program with several servers starts while one of them is away.
func ExampleOpen_later() {
	ctx := context.Background()
	var stores []*postgres.Store
	for _, dsn := range []string{"postgres://app@one/app", "postgres://app@two/app"} {
		store, err := postgres.Open(ctx, dsn, &postgres.Options{Later: true})
		if err != nil {
			log.Fatal(err) // not that the server is away
		}
		defer store.Close()
		stores = append(stores, store)
	}
	for _, store := range stores {
		if _, err := store.Identity(ctx); errors.Is(err, storage.ErrUnavailable) {
			fmt.Println("its poller waits")
		}
	}
}

// A store on the pool that the host has already (GORM, Bun and ent give theirs
// too, and pgx through its stdlib package): migrations are the host's to run.
func ExampleNew() {
	ctx := context.Background()
	db, err := sql.Open("postgres", "postgres://app@db/app?binary_parameters=yes")
	if err != nil {
		log.Fatal(err)
	}
	store, err := postgres.New(ctx, db, &postgres.Options{Migrate: postgres.MigrateVerify})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // the pool stays open
}

// note is a table of the example; hosts use those of the domains.
type note struct {
	storage.Record
	Text string `db:"text"`
}

var notes = driver.Define[note]("note")

// What happens in the host's transaction is undone with it.
func ExampleStore_Join() {
	var (
		ctx   context.Context
		store *postgres.Store // of Open or New
	)
	tx, err := store.DB().BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "UPDATE certificate SET expires_on = '2027-05-01' WHERE id = 7"); err != nil {
		log.Fatal(err)
	}
	same := func(_, _ *note) (storage.Outcome, bool) { return storage.Unchanged, false }
	row := &note{Record: storage.Record{Key: "certificate/7"}, Text: "renewed"}
	if _, err := notes.Ensure(ctx, store.Join(tx), same, row); err != nil {
		log.Fatal(err) // storage.ErrRetryTx: roll back and repeat the transaction
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
}
