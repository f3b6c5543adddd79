package pgx

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
	// transactions of this store made due, and listens to theirs, on a connection
	// of its own. It is a hint only: polls find every row without it. Behind a
	// transaction pooler it is off. New refuses it.
	Notify bool

	// MaxOpenConns bounds the pool that Open makes; zero is pool_max_conns of the
	// connection string, or 10. New ignores it.
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

func (o *Options) orDefault() pgserver.Options {
	if o == nil {
		return pgserver.Options{}
	}
	return pgserver.Options(*o)
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

// Store is a driver.Store on PostgreSQL through pgx. Its methods may be called from any
// number of goroutines, and any number of stores may work on one database.
type Store struct {
	*sqlstore.Store
	pool    *pgxpool.Pool
	db      *sql.DB     // on the pool
	end     func()      // closes the pool if it is ours; else nil
	whole   atomic.Bool // statements are sent whole, on a pool of ours
	follows pgserver.Following
}

// Open connects to the database that dsn names (a URL or key=value pairs, as for pgx),
// checks that it is safe to work on, and runs the migrations that are missing. Nil opts
// are the defaults. The store owns its connections: their calls end within their context
// plus one second, also on a network that hangs, and a COMMIT that did not reach its
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
	life, end := context.WithCancel(context.Background())
	dialer := &pgserver.Dialer{Life: life}
	dialer.Bound(o.Timeout())
	s := &Store{}
	s.whole.Store(true) // until the way is known
	cfg.ConnConfig.DialFunc, cfg.ConnConfig.OnNotice = dialer.DialContext, notice
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		s.speak(c)
		return nil
	}
	cfg.ConnConfig.ValidateConnect = s.admit(cfg.ConnConfig.ValidateConnect)
	cfg.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		was, _ := c.PgConn().CustomData()[timeline].(int64)
		return !s.follows.Outdated(was), nil
	}
	cfg.AfterConnect = func(context.Context, *pgx.Conn) error {
		s.follows.Reconnected()
		return nil
	}
	made, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		end()
		return nil, err
	}
	s.end = func() { end(); within(made.Close) }
	var pooled bool
	err = dialer.Patiently(o.Timeout(), func() (err error) {
		pooled, err = s.open(ctx, o, made)
		return err
	})
	notify := func() {
		if o.Notify && !pooled { // a pooler would be in the way
			s.follows.Herald(o, s.database(), s.Waker(), listener(cfg.ConnConfig))
		}
	}
	if o.Away(err) {
		s.Store, err = s.follows.Store(ctx, o, s, s.database(), s.classify, func(ctx context.Context) (err error) {
			if pooled, err = s.check(ctx); err == nil {
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
	if o.Migrate == "" {
		o.Migrate = MigrateVerify
	}
	s := &Store{}
	if _, err := s.open(ctx, o, host); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open checks the server and builds the store on a pool, which from then on prepares
// statements if it is ours and no pooler would mislay them.
func (s *Store) open(ctx context.Context, o pgserver.Options, pool *pgxpool.Pool) (pooled bool, err error) {
	s.pool, s.db = pool, sql.OpenDB(newConnector(pool))
	s.db.SetMaxIdleConns(0) // they lie idle in the pool
	s.db.SetMaxOpenConns(int(pool.Config().MaxConns))
	if pooled, err = s.check(ctx); err != nil {
		return pooled, err
	}
	s.Store, err = s.follows.Store(ctx, o, s, s.database(), s.classify, nil)
	return pooled, err
}

// check refuses a server that cannot hold the contract, and has a pool of ours prepare
// statements where no pooler is in the way.
func (s *Store) check(ctx context.Context) (pooled bool, err error) {
	if pooled, err = pgserver.Check(ctx, s.database(), s.end != nil); err == nil && s.end != nil && !pooled {
		s.whole.Store(false)
		s.pool.Reset()
	}
	return pooled, err
}

// speak has a new connection of a pool of ours send statements whole where it must.
func (s *Store) speak(c *pgx.ConnConfig) {
	switch mode := &c.DefaultQueryExecMode; *mode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec:
		if s.whole.Load() {
			*mode = pgx.QueryExecModeExec
		}
	}
}

// classify takes a statement that is prepared elsewhere for a sign of a pooler that the
// self-test did not find: from now on nothing is prepared, and the transaction runs
// again, as often as after a lock time-out.
func (s *Store) classify(err error) sqlstore.Class {
	switch {
	case pgserver.Mislaid(err):
		if s.end != nil && !s.whole.Swap(true) {
			s.pool.Reset()
		}
		return sqlstore.LockTimeout
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return sqlstore.Undone
	}
	return pgserver.Classify(err)
}

// Pool is the pool that the store works on: the host's own, or the one that Open made,
// whose transactions the host may then join.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Join binds a host's open transaction. Claim and Extend return ErrJoined;
// [driver.ErrRetryTx] means that the host has to repeat its transaction. After
// an error, and when a context has ended inside a call, the host rolls back.
// Pollers hear of what was ensured with their next poll.
func (s *Store) Join(host pgx.Tx) driver.Tx { return sqlstore.Join(s.Store, hostTx{host}) }

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
	return sqlstore.InHostTx(ctx, s.Store, begin, func(ctx context.Context, host hostTx, bound driver.Tx) error { return f(ctx, host.Tx, bound) })
}

// Close stops following the server's clock and closes the pool if Open made it.
// Nothing may use the store any more. Closing twice is allowed.
func (s *Store) Close() error {
	s.follows.Close()
	err := s.db.Close()
	if s.end != nil {
		s.end()
	}
	return err
}

// within waits for the end of a pool, but for no longer than the network may take: a
// transaction that a host forgot would keep it for ever.
func within(closePool func()) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		closePool()
	}()
	timer := time.NewTimer(pgserver.Grace + 100*time.Millisecond)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// ExportMigrations writes the SQL of all migrations, for a host that runs them
// with its own tool and opens the store with MigrateVerify. schema and prefix
// are Options.Schema and Options.TablePrefix; the schema must exist.
func ExportMigrations(w io.Writer, schema, prefix string) error {
	return sqlstore.Export(w, sqlstore.PostgreSQL, schema, prefix, migrations.Files)
}
