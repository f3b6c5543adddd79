package sqlite

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 9: settings belong to a connection, and most defaults are wrong here.

// A transaction that read before it writes fails at once, however long it might
// wait, when another one wrote in between.
func TestTrap9DriverFailsADeferredTransaction(t *testing.T) {
	t.Parallel()
	db := raw(t, filepath.Join(t.TempDir(), "a.db")+"?_journal_mode=WAL")
	execSQL(t, db, "CREATE TABLE t (n)", "INSERT INTO t VALUES (0)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_ = scan[int](t, tx, "SELECT n FROM t")
	execSQL(t, db, "UPDATE t SET n = n + 1")
	_, err = tx.ExecContext(t.Context(), "UPDATE t SET n = n + 1")
	if code, _ := resultCode(err); code != 517 { // SQLITE_BUSY_SNAPSHOT
		t.Errorf("got %v", err)
	}
}

func TestTrap9WritersThatReadFirstAllSucceed(t *testing.T) {
	t.Parallel()
	s, path := onFile(t, nil)
	insert(t, s, dueTasks(1)...)
	stores := []*Store{s, opened(t, path, nil)}
	const each = 40
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for range each {
				err := stores[n%2].InTx(t.Context(), func(tx driver.Tx) error {
					row, err := tasks.Get(t.Context(), tx, "", "task-00000")
					if err != nil {
						return err
					}
					return tasks.Save(t.Context(), tx, row)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if v := scan[int](t, s.DB(), "SELECT version FROM task"); v != 1+4*each {
		t.Errorf("version %d after %d writes", v, 4*each)
	}
}

// Without _txlock in the data source name they would begin deferred.
func TestTrap9HostsTransactionsBeginImmediate(t *testing.T) {
	t.Parallel()
	s, path := onFile(t, nil)
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	other := raw(t, path+"?_busy_timeout=1")
	if _, err := other.ExecContext(t.Context(), "INSERT INTO schema_migration VALUES (99, '', '', NULL)"); classify(err) == 0 {
		t.Errorf("another process could write: %v", err)
	}
}

func TestTrap9SettingsOfEveryConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ask  Synchronous
		want int
	}{{"", 2}, {Full, 2}, {Normal, 1}} {
		s, _ := onFile(t, &Options{Synchronous: c.ask})
		for pragma, want := range map[string]int{"synchronous": c.want, "wal_autocheckpoint": 4000, "query_only": 0} {
			if got := scan[int](t, s.DB(), "PRAGMA "+pragma); got != want {
				t.Errorf("%q: the writer's %s is %d", c.ask, pragma, got)
			}
		}
		if got := scan[string](t, s.DB(), "PRAGMA journal_mode"); got != "wal" {
			t.Errorf("journal_mode is %s", got)
		}
		if n := s.DB().Stats().MaxOpenConnections; n != 1 {
			t.Errorf("%d connections may write", n)
		}
		if got := scan[int](t, s.reader, "PRAGMA query_only"); got != 1 {
			t.Error("a reader could write")
		}
	}
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), &Options{Synchronous: "OFF"})
	if err == nil || !strings.Contains(err.Error(), `"OFF"`) {
		t.Errorf("synchronous=OFF: %v", err)
	}
}

func TestTrap9ReadersDoNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	s, _ := onFile(t, nil)
	insert(t, s, dueTasks(1)...)
	inTx(t, s, func(tx driver.Tx) error {
		if _, err := tasks.Claim(t.Context(), tx, claimOf("t", 1)); err != nil {
			return err
		}
		next, err := s.Next(t.Context(), &tasks.Schema, claimOf("", 1), noon.Add(time.Second))
		if err != nil || !next.Equal(noon) {
			t.Errorf("Next beside a transaction: %v, %v", next, err)
		}
		return nil
	})
}

// Each connection to :memory: has a database of its own.
func TestTrap9AMemoryDatabaseHasOneConnection(t *testing.T) {
	t.Parallel()
	db := raw(t, ":memory:")
	execSQL(t, db, "CREATE TABLE t (n)")
	busy, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err == nil {
		t.Error("a second connection found the table")
	}
	for _, path := range []string{":memory:", "file::memory:"} {
		s := opened(t, path, nil)
		if s.reader != s.writer || s.DB().Stats().MaxOpenConnections != 1 {
			t.Errorf("%s has more than one connection", path)
		}
	}
}

// SQLite up to 3.51.2 could corrupt a file when its log was reset.
func TestTrap9OldLibrariesAreRefused(t *testing.T) {
	t.Parallel()
	for version, wrong := range map[int]string{3_051_002: "3.51.2", 3_050_004: "3.50.4"} {
		if err := checkVersion(version); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%d: %v", version, err)
		}
	}
	for _, version := range []int{3_051_003, 3_053_004, 4_000_000, libraryVersion()} {
		if err := checkVersion(version); err != nil {
			t.Errorf("%d: %v", version, err)
		}
	}
}
