package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/storagetest"
)

// The suite runs on a file, which is what hosts have, and in memory.
func TestSuiteOnAFile(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{Open: func(t testing.TB, o storagetest.Options) *storagetest.Instance {
		path := filepath.Join(t.TempDir(), "belfry.db")
		in := instance(opened(t, path, options(o)))
		in.Second = func(t testing.TB, environment string) driver.Store {
			again := options(o)
			again.Environment = environment
			return opened(t, path, again)
		}
		return in
	}})
}

func TestSuiteInMemory(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{
		NoSecondHandle: "a database in memory is that of one store",
		Alone:          "a database in memory has one connection",
		Open: func(t testing.TB, o storagetest.Options) *storagetest.Instance {
			return instance(opened(t, ":memory:", options(o)))
		},
	})
}

func options(o storagetest.Options) *Options {
	return &Options{Clock: o.Clock, Rand: o.Rand, Environment: o.Environment, BlobDir: o.BlobDir}
}

func opened(t testing.TB, path string, o *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func instance(s *Store) *storagetest.Instance {
	return &storagetest.Instance{
		Store: s,
		CreateTable: func(ctx context.Context, schema *driver.Schema) error {
			return sqlstore.CreateTable(ctx, s.Store, schema)
		},
		Begin: func(t testing.TB) *storagetest.Host {
			tx, err := s.DB().BeginTx(context.WithoutCancel(t.Context()), nil)
			if err != nil {
				t.Fatal(err)
			}
			return &storagetest.Host{Tx: s.Join(tx), Commit: tx.Commit, Rollback: tx.Rollback}
		},
		Inspect: func(ctx context.Context, schema *driver.Schema) (*storagetest.LiveTable, error) {
			live, err := sqlstore.Inspect(ctx, s.Store, schema)
			return liveTable(live), err
		},
	}
}

func liveTable(live *sqlstore.LiveTable) *storagetest.LiveTable {
	out := &storagetest.LiveTable{}
	for _, c := range live.Columns {
		out.Columns = append(out.Columns, storagetest.LiveColumn{Name: c.Name, Kinds: c.Kinds, NotNull: c.NotNull, Generated: c.Generated})
	}
	for _, i := range live.Indexes {
		out.Indexes = append(out.Indexes, storagetest.LiveIndex{
			Name: i.Name, Columns: i.Columns, Touches: i.Touches, Unique: i.Unique, Partial: i.Where != "",
		})
	}
	return out
}

// Trap 10: instants as text are ordered as text.

func TestTrap10InstantsAreMicrosecondsInStrictTables(t *testing.T) {
	t.Parallel()
	s, _ := onFile(t, nil)
	insert(t, s, dueTasks(1)...)
	if got := scan[int64](t, s.DB(), "SELECT due_on FROM task WHERE typeof(due_on) = 'integer'"); got != noon.UnixMicro() {
		t.Errorf("noon is %d", got)
	}
	if _, err := s.DB().ExecContext(t.Context(), "UPDATE task SET due_on = '2026-03-01 10:00:00+02:00'"); err == nil {
		t.Error("a text could be stored as an instant")
	}
	for _, table := range []string{"task", "blob", "blob_chunk", "store_identity", "schema_migration"} {
		if !scan[bool](t, s.DB(), "SELECT strict FROM pragma_table_list WHERE name = '"+table+"'") {
			t.Errorf("%s is not STRICT", table)
		}
	}
}

// Trap 11: when fsync fails, COMMIT is an error, but the file may have the
// transaction all the same.

// badDisk names the file that makes the disk bad while it exists.
const badDisk = "BAD_DISK"

func TestTrap11FailedFsyncIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || !inC {
		t.Skip("the bad disk is preloaded, as Linux does it for C")
	}
	s, path := onFile(t, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(t.TempDir(), "badfsync.so")
	if out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-o", disk, "testdata/badfsync.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := process(t.Context(), "bad commit", path, "LD_PRELOAD="+disk, badDisk+"="+filepath.Join(t.TempDir(), "now"))
	if out, err := cmd.Output(); err != nil || string(out) != "unknown: I/O error" {
		t.Fatalf("the other process: %q, %v", out, err)
	}
	// The driver called it an error, and here is the row.
	if n := scan[int](t, opened(t, path, nil).DB(), "SELECT count(*) FROM task"); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// commitOnABadDisk inserts a row while fsync fails, and ends without closing the
// store, as after a crash.
func commitOnABadDisk(ctx context.Context, path string) error {
	s, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	// A reader stays connected, so that the last connection does not tidy up.
	if _, err := s.Next(ctx, &tasks.Schema, claimOf("", 1), noon); err != nil {
		return err
	}
	rows := dueTasks(2)
	insert := func(row *task, last func() error) error {
		return s.InTx(ctx, func(tx driver.Tx) error {
			_, err := tasks.Insert(ctx, tx, row)
			return errors.Join(err, last())
		})
	}
	if err := insert(rows[0], func() error { return nil }); err != nil { // the log is begun
		return err
	}
	err = insert(rows[1], func() error { return os.WriteFile(os.Getenv(badDisk), nil, 0o600) })
	if code, _ := resultCode(err); errors.Is(err, driver.ErrOutcomeUnknown) && code&0xff == 10 { // SQLITE_IOERR
		fmt.Print("unknown: I/O error")
		return nil
	}
	return fmt.Errorf("not an unknown outcome: %w", err)
}

// A log that grew behind a long reader is cut when the reader has gone.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	s, path := onFile(t, nil)
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	write := func(n int) {
		execSQL(t, s.DB(), fmt.Sprintf("INSERT INTO big SELECT randomblob(1000000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)", n))
	}
	execSQL(t, s.DB(), "CREATE TABLE big (b BLOB)")
	err := s.View(t.Context(), func(from driver.Reader) error {
		_, err := tasks.Count(t.Context(), from, "", 1)
		write(70)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if grown := size(); grown < 70_000_000 {
		t.Errorf("the log has %d bytes only, so this test shows nothing", grown)
	}
	write(1) // copies the log back
	write(1) // begins it anew
	if left := size(); left > 67_108_864 {
		t.Errorf("the log still has %d bytes", left)
	}
}
