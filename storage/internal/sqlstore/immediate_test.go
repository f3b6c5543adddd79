package sqlstore_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

type counter struct {
	driver.Record
}

var counters = driver.Define[counter]("counter")

// process is one handle on a SQLite file. wait, if it is not nil, replaces the
// pause before a transaction that found the file locked is begun again.
func process(t *testing.T, path string, wait func(context.Context, time.Duration) error) *sqlstore.Store {
	t.Helper()
	db := open(t, "sqlite3", "file:"+path+"?_journal_mode=WAL&_busy_timeout=1")
	db.SetMaxOpenConns(1)
	store, err := sqlstore.New(t.Context(), sqlstore.Config{
		Dialect: sqlstore.SQLite, Writer: pool(db), Classify: classify, Migrate: sqlstore.MigrateOff, Wait: wait,
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// raise reads the only counter and writes it, and counts its runs. between is
// called after the first run has read.
func raise(t *testing.T, store *sqlstore.Store, runs *int, between func()) error {
	return store.InTx(t.Context(), func(tx driver.Tx) error {
		row, err := counters.Get(t.Context(), tx, "", "a")
		if err != nil {
			return err
		}
		if *runs++; *runs == 1 {
			between()
		}
		return counters.Save(t.Context(), tx, row)
	})
}

// Two processes read and then write. The second one has to wait before its
// function begins: after a deferred BEGIN it would overtake the first one, whose
// snapshot would be too old to write on, so that its function would run again.
func TestSQLiteTransactionsThatReadFirstRunOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	waits, over := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(waits) })
	first := process(t, path, nil)
	second := process(t, path, func(context.Context, time.Duration) error { once(); <-over; return nil })
	if err := sqlstore.CreateTable(t.Context(), first, &counters.Schema); err != nil {
		t.Fatal(err)
	}
	err := first.InTx(t.Context(), func(tx driver.Tx) error {
		_, err := counters.Insert(t.Context(), tx, &counter{driver.Record{Key: "a"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var runs [2]int
	done := make(chan struct{})
	err = raise(t, first, &runs[0], func() {
		go func() {
			defer close(done)
			if err := raise(t, second, &runs[1], func() {}); err != nil {
				t.Error(err)
			}
		}()
		select {
		case <-waits:
		case <-done:
		}
	})
	close(over)
	<-done
	if err != nil || runs != [2]int{1, 1} {
		t.Errorf("the functions ran %v times, %v", runs, err)
	}
}
