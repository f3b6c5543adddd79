package postgres

import (
	"io"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// Options tune a store; nil is the same as the zero Options.
type Options struct {
	// Clock is the store's time. Nil follows the server's clock, so that processes
	// on machines with skewed clocks agree about leases; that clock has a method
	// Uncertainty() time.Duration, how far it may be off.
	Clock clock.Clock
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
	// transactions of this store made due, and listens to theirs. It takes one
	// more connection, and is a hint only: polls find every row without it. Behind
	// a transaction pooler it is off. New refuses it, having no way to listen.
	Notify bool

	// MaxOpenConns bounds the pool that Open makes; zero is 10. New ignores it.
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

// DBTX is a host's open transaction: *sql.Tx, *sqlx.Tx, *sql.Conn, and what
// other libraries build on database/sql.
type DBTX = sqlstore.DBTX

const (
	defaultMaxOpenConns = 10
	defaultIOTimeout    = 30 * time.Second
	maxIdleTime         = 5 * time.Minute
)

func (o *Options) orDefault() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o Options) maxOpenConns() int {
	if o.MaxOpenConns <= 0 {
		return defaultMaxOpenConns
	}
	return o.MaxOpenConns
}

func (o Options) ioTimeout() time.Duration {
	if o.IOTimeout == 0 {
		return defaultIOTimeout
	}
	return max(0, o.IOTimeout)
}
