package pgx

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
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
	// BlobDir is a folder for large payloads that all processes share; empty keeps
	// them in the database.
	BlobDir string

	// Schema holds the tables; empty is the connection's search path. MigrateAuto
	// creates it if it is missing. TablePrefix is put in front of the name of every
	// table. Both match ^[a-z_][a-z0-9_]{0,40}$ or are empty.
	Schema, TablePrefix string
	// Migrate says what to do about missing tables. Empty is MigrateAuto for Open
	// and MigrateVerify for New.
	Migrate Migrate

	// Notify tells the pollers of other processes at once, by NOTIFY, what
	// transactions of this store made due, and listens to theirs, on a connection
	// of its own. It is a hint only: polls find every row without it. Behind a
	// transaction pooler it is off. New refuses it.
	Notify bool

	// MaxOpenConns bounds the pool that Open makes; zero is pool_max_conns of the
	// connection string, or 10. New ignores it.
	MaxOpenConns int
	// IOTimeout bounds each read from and write to the network on the pool that
	// Open makes, and so the time that a statement may run; zero is 30 s, negative
	// is no bound. It is what ends a call on a dead network whose context does not
	// end. Migrations are exempt. New ignores it.
	IOTimeout time.Duration
}

// Migrate says what opening a store does about its tables.
type Migrate = sqlstore.Migrate

// The ways to treat migrations.
const (
	MigrateAuto   = sqlstore.MigrateAuto   // run the missing ones
	MigrateVerify = sqlstore.MigrateVerify // refuse an older database, accept a newer one
	MigrateOff    = sqlstore.MigrateOff    // neither read nor write the migration table
)

// DSNError refuses a setting of a connection string. It never holds the connection
// string, which has a password.
type DSNError = pgserver.DSNError

// ServerError says why a server, or the way to it, cannot be worked with, and
// what to change.
type ServerError = pgserver.ServerError

func (o *Options) orDefault() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o Options) ioTimeout() time.Duration {
	if o.IOTimeout == 0 {
		return 30 * time.Second
	}
	return max(0, o.IOTimeout)
}

// Store is a driver.Store on PostgreSQL through pgx. Its methods may be called from any
// number of goroutines, and any number of stores may work on one database.
type Store struct {
	*sqlstore.Store
	pool    *pool
	own     bool // the pool is ours to close
	net     network
	follows pgserver.Following
}

// Open connects to the database that dsn names (a URL or key=value pairs, as for pgx),
// checks that it is safe to work on, and runs the migrations that are missing. Nil opts
// are the defaults. The store owns its connections: their calls end within their context
// plus one second whatever the network does, and a COMMIT that did not reach its
// synchronous standby is not taken for a success.
//
// Statements are prepared once per connection, unless the connection string has another
// default_query_exec_mode, or there is a transaction pooler on the way.
//
// A setting that would break a promise is a [*DSNError], a server that would a
// [*ServerError]. ctx bounds the opening only.
func Open(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	o := opts.orDefault()
	cfg, err := parse(dsn, o.MaxOpenConns)
	if err != nil {
		return nil, err
	}
	s := &Store{own: true}
	s.net.open(o.ioTimeout())
	cfg.ConnConfig.DialFunc = s.net.dial
	cfg.ConnConfig.OnNotice = notice
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		c.PgConn().CustomData()[unsynced] = &atomic.Bool{}
		s.follows.Reconnected()
		return nil
	}
	made, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.pool = newPool(made, s.follows.Reconnected)
	if err = s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.Notify && !s.pool.oneStep.Load() { // a pooler would be in the way
		s.follows.Herald(s.pool, o.Schema+"."+o.TablePrefix, s.Waker(), listener(cfg.ConnConfig))
	}
	return s, nil
}

// New makes a store on the host's own pool. It closes nothing of the host's; Close only
// stops following the server's clock. Migrations are verified, not run, unless opts say
// otherwise.
//
// New checks what it can: that the server is a primary that takes writes, and that pgx
// does not send statements in two steps through a transaction pooler, as it does by
// default. Replicas that pgx connects to later (target_session_attrs=read-write), and
// a COMMIT that was cancelled before its synchronous standby had it, are promises of
// [Open].
func New(ctx context.Context, host *pgxpool.Pool, opts *Options) (*Store, error) {
	if host == nil {
		panic("pgx: New needs a *pgxpool.Pool")
	}
	o := opts.orDefault()
	if o.Notify {
		return nil, errors.New("pgx: Options.Notify needs a connection of its own to listen with: use Open")
	}
	s := &Store{}
	s.pool = newPool(host, s.follows.Reconnected)
	if o.Migrate == "" {
		o.Migrate = MigrateVerify
	}
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open checks the server and builds the store on its pool.
func (s *Store) open(ctx context.Context, o Options) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	return s.net.Patiently(o.ioTimeout(), func() (err error) {
		s.Store, err = s.follows.Store(ctx, sqlstore.Config{
			Outer: s, Writer: s.pool, Classify: s.classify,
			Clock: o.Clock, Rand: o.Rand, Environment: o.Environment, BlobDir: o.BlobDir,
			Schema: o.Schema, Prefix: o.TablePrefix, Migrate: o.Migrate,
		})
		return err
	})
}

// check refuses a server, or a host's way to it, that is not safe. On a way of our own
// it finds out whether statements can be prepared.
func (s *Store) check(ctx context.Context) error {
	s.pool.oneStep.Store(true)
	err := pgserver.CheckServer(ctx, s.pool)
	if err != nil {
		return err
	}
	shared, err := pgserver.Pooled(ctx, s.pool)
	if err != nil {
		return err
	}
	s.pool.oneStep.Store(shared && s.own)
	if shared && !s.own {
		err = pgserver.CheckPool(ctx, s.pool)
	}
	if pgserver.Mislaid(err) {
		return pgserver.ErrTwoStep
	}
	return err
}

// classify takes a statement that is prepared elsewhere for a sign of a pooler that the
// self-test did not find: from now on nothing is prepared, and the transaction runs
// again, as often as after a lock time-out.
func (s *Store) classify(err error) sqltext.Class {
	if pgserver.Mislaid(err) {
		s.pool.oneStep.Store(true)
		return sqltext.LockTimeout
	}
	return classify(err)
}

// Pool is the pool that the store works on: the host's own, or the one that Open made,
// whose transactions the host may then join.
func (s *Store) Pool() *pgxpool.Pool { return s.pool.Pool }

// Join binds a host's open transaction. Claim and Extend return ErrJoined;
// [driver.ErrRetryTx] means that the host has to repeat its transaction. After
// an error, and when a context has ended inside a call, the host rolls back.
// Pollers hear of what was ensured with their next poll.
func (s *Store) Join(host pgx.Tx) driver.Tx { return sqlstore.Join(s.Store, runner{host, s.pool}) }

// InHostTx runs f in one transaction of the host and commits it when f returns nil: what
// f does with host, and what it ensures through bound (with the WithTx of a domain),
// commits together. It runs f again where InTx would, so f has no effects outside of the
// transaction. Behind the commit pollers hear of what became due. f neither commits nor
// rolls back. An unknown outcome is [driver.ErrOutcomeUnknown].
//
// f uses the context that it is given, for its own statements too: a call to this store
// with that context which is not bound is refused with [driver.ErrJoined]. With another
// context it cannot be told from a call beside the transaction, and commits on its own.
func (s *Store) InHostTx(ctx context.Context, f func(ctx context.Context, host pgx.Tx, bound driver.Tx) error) error {
	begin := func(ctx context.Context, c sqlstore.Conn) (hostTx, error) {
		tx, err := c.(*conn).held.Begin(ctx)
		return hostTx{runner{tx, s.pool}, tx}, err
	}
	return sqlstore.InHostTx(ctx, s.Store, begin, func(ctx context.Context, host hostTx, bound driver.Tx) error { return f(ctx, host.tx, bound) })
}

// Close stops following the server's clock and closes the pool if Open made it.
// Nothing may use the store any more. Closing twice is allowed.
func (s *Store) Close() error {
	s.follows.Close()
	if s.own {
		s.net.close(s.pool.Close)
	}
	return nil
}

// ExportMigrations writes the SQL of all migrations, for a host that runs them
// with its own tool and opens the store with MigrateVerify. schema and prefix
// are Options.Schema and Options.TablePrefix; the schema must exist.
func ExportMigrations(w io.Writer, schema, prefix string) error {
	return sqlstore.Export(w, sqlstore.PostgreSQL, schema, prefix, migrations.Files)
}
