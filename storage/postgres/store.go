package postgres

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/postgres/migrations"
)

// Options tune a store; nil is the same as the zero Options.
type Options struct {
	// Clock is the store's time. Nil follows the server's clock, so that processes
	// on machines with skewed clocks agree about leases; that clock has a method
	// Uncertainty() time.Duration, how far it may be off.
	Clock driver.Clock
	// Rand is the store's randomness; nil is crypto/rand.
	Rand io.Reader
	// Environment names the environment that the host is in, for example
	// "production". A database that was first opened under another name is taken
	// for a copy.
	Environment string
	// StopOnLoss keeps everything from being sent once the database has forgotten
	// commits that it had acknowledged, until a person releases it as a copied
	// database. The same in every process.
	StopOnLoss bool
	// BlobDir is a folder for large payloads that all processes share; empty keeps
	// them in the database.
	BlobDir string

	// Schema holds the tables; empty is the connection's search path. MigrateAuto
	// creates it if it is missing. It matches ^[a-z_][a-z0-9_]{0,40}$ or is empty.
	Schema string
	// TablePrefix is put in front of the name of every table, and matches the same.
	TablePrefix string
	// Migrate says what to do about missing tables. Empty is MigrateAuto for Open
	// and MigrateVerify for New.
	Migrate Migrate

	// Notify tells the pollers of other processes at once, by NOTIFY, what
	// transactions of this store made due, and listens to theirs. It takes one
	// more connection, and is a hint only: polls find every row without it. Behind
	// a transaction pooler it is off. New refuses it, having no way to listen.
	Notify bool

	// MaxOpenConns bounds the pool that Open makes; zero is 10. New ignores it.
	MaxOpenConns int
	// IOTimeout bounds each read from and write to the network on the pool that
	// Open makes, and so the time that a statement may run; zero is 30 s, negative
	// is not a bound. It is what ends a call on a dead network whose context does not
	// end. Migrations are exempt. New ignores it.
	IOTimeout time.Duration
	// Later has Open succeed while the server is away: all calls fail with
	// [driver.ErrUnavailable] until it is there, and was checked and migrated by the first
	// call that reaches it. A Poller waits for it, and Health says so. A connection string
	// or a server that would break a promise is still refused, at once or by each call.
	// New ignores it.
	Later bool
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

func (o *Options) orDefault() pgserver.Options {
	if o == nil {
		return pgserver.Options{}
	}
	return pgserver.Options(*o)
}

// Open connects to the database that dsn names (a URL or key=value pairs, as
// for lib/pq), checks that it is safe to work on, and runs the migrations that
// are missing. Nil opts are the defaults. The store owns its connections: their
// calls end within their context plus one second, also on a network that hangs, and
// a COMMIT that did not reach its synchronous standby is not taken for a success.
//
// A setting that would break a promise is a [*DSNError], a server that would a
// [*ServerError]. ctx bounds the opening only.
func Open(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	o := opts.orDefault()
	cfg, full, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	s, d := &Store{}, newDialer()
	c, err := newConnector(cfg, d, &s.follows)
	if err != nil {
		return nil, err
	}
	s.db = sql.OpenDB(c)
	s.db.SetMaxOpenConns(o.Conns())
	s.db.SetMaxIdleConns(o.Conns())
	s.db.SetConnMaxIdleTime(pgserver.MaxIdleTime)
	s.pool = s.db
	d.Bound(o.Timeout())
	pooled, err := s.open(ctx, o, func(migrate func() error) error { return d.Patiently(o.Timeout(), migrate) })
	notify := func() {
		if o.Notify && !pooled { // a pooler would be in the way
			s.follows.Herald(o, s.database(), s.Waker(), listener(full))
		}
	}
	if o.Away(err) {
		s.Store, err = s.follows.Store(ctx, o, s, s.database(), classify, func(ctx context.Context) (err error) {
			if pooled, err = pgserver.Check(ctx, s.database(), true); err == nil {
				notify()
			}
			return err
		})
	} else if err == nil {
		notify()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// New makes a store on the host's own pool (sqlx: pass x.DB). It closes nothing
// of the host's; Close only stops following the server's clock. Migrations are
// verified, not run, unless opts say otherwise.
//
// New checks what it can: that the server is a primary that takes writes, and
// that the driver does not send statements in two steps through a transaction
// pooler, as lib/pq does without binary_parameters and pgx by default.
// It cannot bound calls on a dead network beyond what the host's driver does,
// nor see a COMMIT that was cancelled before its synchronous standby had it:
// those are promises of [Open].
func New(ctx context.Context, db *sql.DB, opts *Options) (*Store, error) {
	if db == nil {
		panic("postgres: New needs a *sql.DB")
	}
	o := opts.orDefault()
	if o.Notify {
		return nil, errors.New("postgres: Options.Notify needs a connection string to listen with: use Open")
	}
	s := &Store{db: db}
	if o.Migrate == "" {
		o.Migrate = MigrateVerify
	}
	if _, err := s.open(ctx, o, func(migrate func() error) error { return migrate() }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Store is a driver.Store on PostgreSQL. Its methods may be called from any
// number of goroutines, and any number of stores may work on one database.
type Store struct {
	*sqlstore.Store
	db      *sql.DB
	pool    *sql.DB // db if it is ours to close
	follows pgserver.Following
}

// ServerError says why a server, or the way to it, cannot be worked with, and
// what to change.
type ServerError = pgserver.ServerError

// database is the pool as the shared SQL takes it.
func (s *Store) database() sqlstore.Pool { return sqlstore.NewDatabase(s.db, watch) }

// open checks the server and builds the store on s.db. migrating wraps what may
// take long.
func (s *Store) open(ctx context.Context, o pgserver.Options, migrating func(func() error) error) (pooled bool, err error) {
	if pooled, err = pgserver.Check(ctx, s.database(), s.pool != nil); err != nil {
		return pooled, err
	}
	return pooled, migrating(func() (err error) {
		s.Store, err = s.follows.Store(ctx, o, s, s.database(), classify, nil)
		return err
	})
}

// DB returns the pool that the store works on: the host's own, or the one that
// Open made, whose transactions the host may then join.
func (s *Store) DB() *sql.DB { return s.db }

// Close stops following the server's clock and closes the pool if Open made it.
// Nothing may use the store any more. Closing twice is allowed.
func (s *Store) Close() error {
	s.follows.Close()
	if s.pool == nil {
		return nil
	}
	return s.pool.Close()
}

// ExportMigrations writes the SQL of all migrations, for a host that runs them
// with its own tool and opens the store with MigrateVerify. schema and prefix
// are Options.Schema and Options.TablePrefix; the schema must exist.
func ExportMigrations(w io.Writer, schema, prefix string) error {
	return sqlstore.Export(w, sqlstore.PostgreSQL, schema, prefix, migrations.Files)
}
