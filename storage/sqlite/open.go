package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// readers is how many connections read while the writer writes.
const readers = 4

// Open opens the database at path, creating the file if need be, and runs the
// migrations that are missing. Nil opts are the defaults. path is a file's path,
// ":memory:" (a database of this store alone, gone when it is closed) or a file:
// URI; a question mark begins parameters, and those that would make the database
// unsafe are refused. ctx bounds the opening only.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkVersion(libraryVersion()); err != nil {
		return nil, err
	}
	sync, err := opts.Synchronous.orDefault()
	if err != nil {
		return nil, err
	}
	d, err := parse(path)
	if err != nil {
		return nil, err
	}
	s := &Store{writer: pool(d.with(writing, sync), !d.memory, 1)}
	s.reader = s.writer
	if !d.memory {
		s.reader = pool(d.with(reading, ""), false, readers)
	}
	if err := s.open(ctx, opts); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, errors.Join(explained(err), s.Close()))
	}
	return s, nil
}

// explained says what SQLite leaves out when it cannot make or open the file.
func explained(err error) error {
	if code, ok := resultCode(err); ok && code&0xff == cantOpen {
		return fmt.Errorf("%w (is its folder there, and can it be written?)", err)
	}
	return err
}

func (s *Store) open(ctx context.Context, opts *Options) (err error) {
	writer := database(s.writer)
	reader := writer
	if s.reader != s.writer {
		reader = database(s.reader)
	}
	s.Store, err = sqlstore.New(ctx, sqlstore.Config{
		Dialect:     sqlstore.SQLite,
		Outer:       s,
		Writer:      writer,
		Reader:      reader,
		Classify:    classify,
		Clock:       opts.Clock,
		Rand:        opts.Rand,
		Environment: opts.Environment, StopOnLoss: opts.StopOnLoss,
		BlobDir:     opts.BlobDir,
		Prefix:      opts.TablePrefix,
		Migrations:  migrations(),
		Migrate:     opts.Migrate,
		BusyTimeout: opts.busyTimeout(),
	})
	if err != nil {
		return err
	}
	// A read-only file can be opened, and locked too. The version is the host's to use.
	return s.Probe(ctx, "PRAGMA user_version = 1")
}

// pool makes a handle with at most n connections, which it keeps.
func pool(name string, wal bool, n int) *sqlx.DB {
	db := sqlx.NewDb(sqlOpen(name, wal), "sqlite3")
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db
}

// oldest is the first SQLite without the WAL-reset bug, which could corrupt a
// file that several connections write.
const oldest = 3_051_003

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

// Driver is the one that the program was built with, without hooks of our own.
func (c *connector) Driver() sqldriver.Driver { return library }

// Connect opens a connection.
func (c *connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := connect(c.name)
	if err == nil && c.wal {
		if err = prepareWriter(ctx, conn); err != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// connection is what both drivers' connections can do.
type connection interface {
	sqldriver.Conn
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

// prepareWriter lets the log grow to 4,000 pages before it is copied back, cuts one
// that grew behind a long reader to 64 MiB, and refuses a file that SQLite will not
// keep in WAL mode, as on some network file systems.
func prepareWriter(ctx context.Context, c connection) error {
	for _, setting := range []string{"PRAGMA wal_autocheckpoint = 4000", "PRAGMA journal_size_limit = 67108864"} {
		if _, err := c.ExecContext(ctx, setting, nil); err != nil {
			return err
		}
	}
	rows, err := c.QueryContext(ctx, "PRAGMA journal_mode", nil)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what was read stays read
	mode := make([]sqldriver.Value, 1)
	if err := rows.Next(mode); err != nil {
		return err
	}
	if mode[0] != "wal" {
		return fmt.Errorf("the file cannot be kept in WAL mode (it is in %v): is it on a network file system?", mode[0])
	}
	return nil
}

// cantOpen is SQLITE_CANTOPEN.
const cantOpen = 14

// classify says what an error of the driver means.
func classify(err error) sqlstore.Class {
	if code, ok := resultCode(err); ok {
		return sqlstore.OfCode(code)
	}
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return sqlstore.Connection
	}
	return sqlstore.Unknown
}
