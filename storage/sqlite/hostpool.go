package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// New makes a store on the host's own pool (sqlx: pass x.DB), of the driver that this
// program's [Open] uses: mattn/go-sqlite3 with cgo, modernc.org/sqlite without. It
// closes nothing of the host's. Migrations are verified, not run, unless opts say
// otherwise; Synchronous is the pool's, and has to be empty.
//
// New refuses a pool whose settings are not safe: no WAL, no waiting for the disk
// (synchronous OFF), a busy timeout above a second, which no context ends, transactions
// that begin deferred (_txlock), uncommitted reads, an exclusive file, a database in
// memory, or one connection alone. It looks at one connection, so the settings have to
// be those of all: they belong into the data source name,
// "file:host.db?_journal_mode=WAL&_busy_timeout=100&_txlock=immediate&_synchronous=FULL".
func New(ctx context.Context, db *sql.DB, opts *Options) (*Store, error) {
	if db == nil {
		panic("sqlite: New needs a *sql.DB")
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Migrate == "" {
		o.Migrate = MigrateVerify
	}
	s := &Store{hosts: true}
	s.writer = sqlx.NewDb(db, "sqlite3")
	s.reader = s.writer
	err := checkPool(ctx, db, o)
	if err == nil {
		err = checkVersion(libraryVersion())
	}
	if err == nil {
		err = s.open(ctx, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: New: %w", err)
	}
	return s, nil
}

// checkPool refuses what would not be safe.
func checkPool(ctx context.Context, db *sql.DB, o Options) error {
	switch {
	case o.Synchronous != "":
		return errors.New("Options.Synchronous is a setting of the host's pool")
	case db.Stats().MaxOpenConnections == 1:
		return errors.New("the pool has one connection (SetMaxOpenConns), and reads would wait for the transactions of the host")
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := checkDriver(ctx, conn); err != nil {
		return err
	}
	for _, setting := range poolSettings {
		var value string
		if err := conn.QueryRowContext(ctx, setting.text).Scan(&value); err != nil {
			return fmt.Errorf("%s: %w", setting.text, err)
		}
		if !setting.safe(value) {
			return fmt.Errorf("%s is %q: %s", setting.text, value, setting.why)
		}
	}
	return checkBegin(ctx, db, conn)
}

// checkDriver refuses a driver whose errors are not understood here.
func checkDriver(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT belfry_asks_what_an_error_is")
	if _, understood := resultCode(err); err == nil || !understood {
		return errors.Join(errors.New("the pool is not one of this program's SQLite driver: mattn/go-sqlite3 with cgo, modernc.org/sqlite without"), err)
	}
	return nil
}

// poolSettings are what New looks at.
var poolSettings = []struct {
	text string
	safe func(value string) bool
	why  string
}{
	{"SELECT file FROM pragma_database_list WHERE name = 'main'", func(v string) bool { return v != "" },
		"each connection would have a database of its own"},
	{"PRAGMA journal_mode", func(v string) bool { return v == "wal" },
		"without WAL readers and the writer lock each other out (_journal_mode=WAL)"},
	{"PRAGMA synchronous", func(v string) bool { return v != "0" },
		"a power cut may ruin the file (_synchronous=FULL)"},
	{"PRAGMA busy_timeout", func(v string) bool { return len(v) < len("1000") || v == "1000" },
		"no context ends the wait, and the store waits by itself (_busy_timeout=100)"},
	{"PRAGMA query_only", func(v string) bool { return v == "0" }, "the store writes"},
	{"PRAGMA read_uncommitted", func(v string) bool { return v == "0" }, "it would read what is never committed"},
	{"PRAGMA locking_mode", func(v string) bool { return v == "normal" }, "other connections and processes work on the file too"},
}

// checkBegin refuses a pool whose transactions begin deferred: one that reads and then
// writes fails at once when another has written in between. A transaction that holds the
// lock keeps the other connection from getting it.
func checkBegin(ctx context.Context, db *sql.DB, conn *sql.Conn) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		if classify(err) == sqlstore.Unknown {
			return err
		}
		return nil // another process holds the lock: this one began with asking for it
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil
	}
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return errors.Join(errors.New("transactions of the pool begin deferred, and fail when they turn to writing (_txlock=immediate)"), err)
}

// database is a pool as the shared SQL takes it.
func database(db *sqlx.DB) *sqlstore.Database { return sqlstore.NewDatabase(db.DB, nil) }
