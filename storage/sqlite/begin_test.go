package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// Trap 9: settings belong to a connection, and most defaults are wrong here.

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

// Each connection to :memory: has a database of its own.
func TestTrap9AMemoryDatabaseHasOneConnection(t *testing.T) {
	t.Parallel()
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
