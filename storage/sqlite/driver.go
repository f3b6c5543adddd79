//go:build cgo

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// oldest is the first SQLite without the WAL-reset bug, which could corrupt a
// file that several connections write.
const oldest = 3_051_003

func libraryVersion() int {
	_, n, _ := sqlite3.Version()
	return n
}

func checkVersion(n int) error {
	if n < oldest {
		return fmt.Errorf("sqlite: the library is version %d.%d.%d; 3.51.3 or later is needed, since earlier ones can corrupt a file in WAL mode",
			n/1_000_000, n/1_000%1_000, n%1_000)
	}
	return nil
}

func sqlOpen(name string, wal bool) *sql.DB {
	return sql.OpenDB(&connector{name: name, wal: wal})
}

// connector opens connections with settings that a data source name lacks.
type connector struct {
	name string
	wal  bool // the writer of a file
}

// Driver is mattn's, without hooks of our own.
func (c *connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// Connect opens a connection.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &sqlite3.SQLiteDriver{}
	if c.wal {
		d.ConnectHook = prepareWriter
	}
	return d.Open(c.name)
}

// prepareWriter lets the log grow to 4,000 pages before it is copied back, and
// refuses a file that SQLite will not keep in WAL mode, as on some network file
// systems.
func prepareWriter(c *sqlite3.SQLiteConn) error {
	if _, err := c.Exec("PRAGMA wal_autocheckpoint = 4000", nil); err != nil {
		return err
	}
	rows, err := c.Query("PRAGMA journal_mode", nil)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what was read stays read
	mode := make([]driver.Value, 1)
	if err := rows.Next(mode); err != nil {
		return err
	}
	if mode[0] != "wal" {
		return fmt.Errorf("the file cannot be kept in WAL mode (it is in %v): is it on a network file system?", mode[0])
	}
	return nil
}
