//go:build cgo

package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/storage/driver"
)

// A backup is restored by SQLite's own means into a file that a process has open. Its next
// transaction after a look at the identity notices.
func TestARestoreUnderARunningProcessIsNoticed(t *testing.T) {
	t.Parallel()
	s, path := onFile(t, &Options{StopOnLoss: true})
	insert(t, s, dueTasks(1)...)
	look := func() driver.Loss {
		t.Helper()
		if _, err := s.Identity(t.Context()); err != nil {
			t.Fatal(err)
		}
		inTx(t, s, func(driver.Tx) error { return nil })
		return s.Losses().Last()
	}
	if loss := look(); loss != (driver.Loss{}) {
		t.Errorf("before: %+v", loss)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	execSQL(t, s.DB(), "VACUUM INTO '"+backup+"'")
	inTx(t, s, func(tx driver.Tx) error {
		_, err := tasks.Claim(t.Context(), tx, claimOf("token", 1))
		return err
	})
	from, into := raw(t, backup), raw(t, path)
	restore(t, from, into)
	if loss := look(); !loss.Open() {
		t.Errorf("after the restore: %+v", loss)
	}
	if id, err := s.Identity(t.Context()); err != nil || !id.Quarantined() {
		t.Errorf("identity is %+v, %v", id, err)
	}
}

// restore copies one database into another, as .restore of SQLite's shell does.
func restore(t *testing.T, from, into *sql.DB) {
	t.Helper()
	on := func(db *sql.DB, f func(*sqlite3.SQLiteConn) error) error {
		c, err := db.Conn(t.Context())
		if err != nil {
			return err
		}
		return errors.Join(c.Raw(func(raw any) error { return f(raw.(*sqlite3.SQLiteConn)) }), c.Close())
	}
	err := on(from, func(source *sqlite3.SQLiteConn) error {
		return on(into, func(target *sqlite3.SQLiteConn) error {
			b, err := target.Backup("main", source, "main")
			if err != nil {
				return err
			}
			_, err = b.Step(-1)
			return errors.Join(err, b.Finish())
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
