package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Open connects to the database that dsn names (a URL or key=value pairs, as
// for lib/pq), checks that it is safe to work on, and runs the migrations that
// are missing. Nil opts are the defaults. The store owns its connections: their
// calls end within their context plus one second whatever the network does, and
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
	s, d := &Store{}, &dialer{}
	c, err := newConnector(cfg, d, s.reconnected)
	if err != nil {
		return nil, err
	}
	s.db = sql.OpenDB(c)
	s.db.SetMaxOpenConns(o.maxOpenConns())
	s.db.SetMaxIdleConns(o.maxOpenConns())
	s.db.SetConnMaxIdleTime(maxIdleTime)
	s.pool = s.db
	err = s.open(ctx, o, MigrateAuto, d.patiently(o.ioTimeout()))
	if err == nil && o.Notify {
		err = s.notify(ctx, o, full)
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
	if opts != nil && opts.Notify {
		return nil, errors.New("postgres: Options.Notify needs a connection string to listen with: use Open")
	}
	s := &Store{db: db}
	if err := s.open(ctx, opts.orDefault(), MigrateVerify, func(migrate func() error) error { return migrate() }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// patiently returns what runs the migrations without the bound on reads and
// writes, which holds before and after them: building an index takes long.
func (d *dialer) patiently(bound time.Duration) func(migrate func() error) error {
	d.bound.Store(int64(bound))
	return func(migrate func() error) error {
		d.bound.Store(0)
		defer d.bound.Store(int64(bound))
		return migrate()
	}
}
