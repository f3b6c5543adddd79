// Package sqlite keeps a store in an SQLite file: the embedded default. A program that
// is built with cgo has SQLite in C; one that is built with CGO_ENABLED=0 has SQLite
// translated to Go, needs no C compiler, and is somewhat slower. Any number of
// processes on one machine may work on one file, of both builds; on a network file
// system that is not safe, and SQLite's locks do not promise it.
//
// The store owns its connections, since SQLite's settings belong to a connection
// and a host's pool may have others: one connection writes, a few read. A host
// that wants its own writes in the same transaction calls InHostTx. Until that
// transaction ends nothing else can be written.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// Options tune a store; nil is the same as the zero Options.
type Options struct {
	// Clock is the store's time; nil is the machine's clock.
	Clock driver.Clock
	// Rand is the store's randomness; nil is crypto/rand.
	Rand io.Reader
	// Environment names the environment that the host is in, for example
	// "production". A database that was first opened under another name is taken
	// for a copy.
	Environment string
	// StopOnLoss keeps everything from being sent once the file has forgotten commits
	// that it had acknowledged, as when a backup is restored into it while processes
	// run, until a person releases it as a copied database. The same in every process.
	StopOnLoss bool
	// BlobDir is a folder for large payloads that all processes share; empty keeps
	// them in the database.
	BlobDir string
	// TablePrefix is put in front of every table's name. It matches
	// ^[a-z_][a-z0-9_]{0,40}$ or is empty.
	TablePrefix string
	// Migrate says what to do about missing tables; empty is MigrateAuto.
	Migrate Migrate
	// Synchronous says what a power cut may cost; empty is Full.
	Synchronous Synchronous
	// BusyTimeout is how long a transaction waits for those of other processes, and of this
	// one, if its context does not end before; zero is 30 s, negative is not a bound. Then
	// nothing was written, and the error is a storage.ErrBusy. Migrations wait longer.
	BusyTimeout time.Duration
}

func (o Options) busyTimeout() time.Duration {
	if o.BusyTimeout == 0 {
		return 30 * time.Second
	}
	return max(0, o.BusyTimeout)
}

// Synchronous is how long a COMMIT waits for the disk.
type Synchronous string

// The choices of Options.Synchronous. A crash of the program loses nothing with
// either of them, and the file stays sound.
const (
	// Full waits until the disk has the transaction: a power cut loses nothing
	// that was committed. In batches it costs 4 to 12 % against Normal.
	Full Synchronous = "FULL"
	// Normal does not wait: a power cut may lose the last transactions, and a
	// message that was sent by then is sent again.
	Normal Synchronous = "NORMAL"
)

func (s Synchronous) orDefault() (Synchronous, error) {
	switch s {
	case "":
		return Full, nil
	case Full, Normal:
		return s, nil
	}
	return "", fmt.Errorf("sqlite: Options.Synchronous is %q, neither %q nor %q", s, Full, Normal)
}

// Migrate says what opening a store does about its tables.
type Migrate = sqlstore.Migrate

// The ways to treat migrations.
const (
	MigrateAuto   = sqlstore.MigrateAuto   // run the missing ones
	MigrateVerify = sqlstore.MigrateVerify // refuse an older database, accept a newer one
	MigrateOff    = sqlstore.MigrateOff    // neither read nor write the migration table
)

// DBTX is a host's open transaction: *sql.Tx, *sqlx.Tx, *sql.Conn, and what
// other libraries build on database/sql.
type DBTX = sqlstore.DBTX

// Store is a storage.Store on an SQLite file. Its methods may be called from any
// number of goroutines.
type Store struct {
	*sqlstore.Store
	writer, reader *sqlx.DB
	hosts          bool // they are the host's
}

// DB returns the one writing connection, whose transactions begin IMMEDIATE, or the
// host's pool. Statements on it wait for the store's own transactions, and these for
// them.
func (s *Store) DB() *sql.DB { return s.writer.DB }

// Close closes the connections, but a host's. Nothing may use the store any more.
// Closing twice is allowed.
func (s *Store) Close() error {
	if s.hosts {
		return nil
	}
	return errors.Join(s.reader.Close(), s.writer.Close())
}

// Compact writes the file anew, without the pages of what was deleted, and empties the log:
// then no byte of it is left in either. Nothing else is written meanwhile, and the disk
// needs room for a second file. storage.ErrBusy: another process writes, or reads an older
// state; call it again.
func (s *Store) Compact(ctx context.Context) error {
	if _, err := s.writer.ExecContext(ctx, "VACUUM"); err != nil {
		if classify(err) == sqlstore.Busy {
			err = fmt.Errorf("%w: %w", driver.ErrBusy, err)
		}
		return fmt.Errorf("sqlite: Compact: %w", err)
	}
	var busy bool
	var logged, moved int
	err := s.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &moved)
	if err == nil && busy {
		err = driver.ErrBusy
	}
	if err != nil {
		return fmt.Errorf("sqlite: Compact: %w", err)
	}
	return nil
}

//go:embed migrations/*.sql
var embedded embed.FS

func migrations() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the name is constant and valid
	}
	return files
}

// ExportMigrations writes the SQL of all migrations, for a host that runs them
// with its own tool and opens the store with MigrateVerify. prefix is
// Options.TablePrefix.
func ExportMigrations(w io.Writer, prefix string) error {
	return sqlstore.Export(w, sqlstore.SQLite, "", prefix, migrations())
}
