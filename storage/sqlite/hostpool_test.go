package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

const safePool = "?_journal_mode=WAL&_busy_timeout=100&_txlock=immediate&_synchronous=FULL"

// A host that has a pool already puts the store on it, and both write in one transaction.
func TestAStoreOnTheHostsPool(t *testing.T) {
	t.Parallel()
	db := raw(t, "file:"+filepath.Join(t.TempDir(), "host.db")+safePool)
	if _, err := New(t.Context(), db, nil); err == nil {
		t.Error("there are no tables, and nobody said that they are made")
	}
	s, err := New(t.Context(), db, &Options{Migrate: MigrateAuto})
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.CreateTable(t.Context(), s.Store, &tasks.Schema); err != nil {
		t.Fatal(err)
	}
	execSQL(t, db, "CREATE TABLE host (n)")
	no := errors.New("no")
	for _, answer := range []error{no, nil} {
		err := s.InHostTx(t.Context(), func(ctx context.Context, host *sql.Tx, bound driver.Tx) error {
			execSQL(t, host, "INSERT INTO host VALUES (1)")
			_, err := tasks.Insert(ctx, bound, dueTasks(1)...)
			return errors.Join(err, answer)
		})
		if !errors.Is(err, answer) {
			t.Error(err)
		}
		if n, want := scan[int](t, db, "SELECT (SELECT count(*) FROM host) + (SELECT count(*) FROM task)"), map[error]int{nil: 2}[answer]; n != want {
			t.Errorf("%d rows after %v", n, answer)
		}
	}
	if err := s.Close(); err != nil || db.PingContext(t.Context()) != nil {
		t.Error("the host's pool was closed", err)
	}
}

// Many writers on one pool wait for each other.
func TestWritersOfAHostsPoolAllSucceed(t *testing.T) {
	t.Parallel()
	db := raw(t, "file:"+filepath.Join(t.TempDir(), "host.db")+safePool)
	s, err := New(t.Context(), db, &Options{Migrate: MigrateAuto})
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.CreateTable(t.Context(), s.Store, &tasks.Schema); err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 50
	results := make(chan error)
	for w := range writers {
		go func() {
			for i := range each {
				row := &task{Due: driver.Due{Record: driver.Record{Key: string(rune('a'+w)) + string(rune('0'+i)), Status: "Ready"}, DueOn: noon}}
				err := s.InTx(t.Context(), func(tx driver.Tx) error {
					_, err := tasks.Insert(t.Context(), tx, row)
					return err
				})
				if err != nil {
					results <- err
					return
				}
			}
			results <- nil
		}()
	}
	for range writers {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := scan[int](t, db, "SELECT count(*) FROM task"); n != writers*each {
		t.Errorf("%d rows", n)
	}
}

// What is not safe is refused, with what to change.
func TestAPoolThatIsNotSafeIsRefused(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"?_journal_mode=DELETE&_busy_timeout=100&_txlock=immediate&_synchronous=FULL": "_journal_mode=WAL",
		"?_journal_mode=WAL&_busy_timeout=100&_txlock=immediate&_synchronous=OFF":     "_synchronous=FULL",
		"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate&_synchronous=FULL":   "_busy_timeout=100",
		"?_journal_mode=WAL&_busy_timeout=100&_synchronous=FULL":                      "_txlock=immediate",
		safePool + "&_query_only=1": "the store writes",
	} {
		path := filepath.Join(t.TempDir(), "host.db")
		execSQL(t, raw(t, "file:"+path), "CREATE TABLE t (n)")
		if _, err := New(t.Context(), raw(t, "file:"+path+dsn), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dsn, err)
		}
	}
	memory := raw(t, ":memory:")
	if _, err := New(t.Context(), memory, nil); err == nil || !strings.Contains(err.Error(), "of its own") {
		t.Error(err)
	}
	single := raw(t, "file:"+filepath.Join(t.TempDir(), "host.db")+safePool)
	single.SetMaxOpenConns(1)
	if _, err := New(t.Context(), single, nil); err == nil || !strings.Contains(err.Error(), "SetMaxOpenConns") {
		t.Error(err)
	}
	other := raw(t, "file:"+filepath.Join(t.TempDir(), "host.db")+safePool)
	if _, err := New(t.Context(), other, &Options{Synchronous: Full}); err == nil || !strings.Contains(err.Error(), "Synchronous") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no pool, and no panic")
		}
	}()
	_, _ = New(t.Context(), nil, nil)
}

// Another process that writes does not keep a host from starting.
func TestAPoolIsTakenWhileAnotherProcessWrites(t *testing.T) {
	t.Parallel()
	path := "file:" + filepath.Join(t.TempDir(), "host.db") + safePool
	execSQL(t, raw(t, path), "CREATE TABLE t (n)")
	holder, err := raw(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkPool(t.Context(), raw(t, path), Options{}); err != nil { // does not wait for it
		t.Error(err)
	}
	if err := holder.Rollback(); err != nil {
		t.Error(err)
	}
}
