package sqlstore

import (
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
)

// Migrate says what opening a store does about its tables.
type Migrate string

// The ways to treat migrations. The empty Migrate is MigrateAuto.
const (
	MigrateAuto   Migrate = "auto"   // run the missing ones
	MigrateVerify Migrate = "verify" // refuse an older database, accept a newer one
	MigrateOff    Migrate = "off"    // neither read nor write the migration table
)

// Config is what an adapter says about its database; the rest is the same for
// all of them. Required: Dialect, Writer, Classify, Migrations (unless
// MigrateOff).
type Config struct {
	Dialect *Dialect // PostgreSQL or SQLite
	// Outer is the value that hosts hold, an adapter's type that embeds the
	// Store; Tx.Store answers it. Nil: the Store itself.
	Outer driver.Store
	// Writer runs transactions. Reader runs Next outside of them; nil: Writer.
	Writer, Reader Pool
	// Classify says what an error of the driver means.
	Classify func(error) Class

	Clock       driver.Clock // nil: the machine's clock
	Rand        io.Reader    // nil: crypto/rand; reads of another one are serialized
	Environment string       // name of the environment the host says it is in
	StopOnLoss  bool         // see driver.Identity
	BlobDir     string       // empty: blobs are kept in the database

	// Schema (PostgreSQL only; empty: the search path) and Prefix qualify table
	// names. Both match ^[a-z_][a-z0-9_]{0,40}$ or are empty.
	Schema, Prefix string
	// Migrations holds the NNNN_name.sql files at its root.
	Migrations fs.FS
	Migrate    Migrate

	// Prepare, if not nil, checks the database before the first call that reaches it, which
	// then treats the migrations, too: New asks it nothing.
	Prepare func(ctx context.Context) error

	// SystemIdentifier tells the present database system; nil: there is none.
	SystemIdentifier func(ctx context.Context) (string, error)
	// Committed, if not nil, is told what each committed transaction made due, as
	// the Waker is. It must not wait.
	Committed func(driver.Hints)

	// BusyTimeout is how long a transaction, or a view, waits for a connection and for the
	// lock of a database that has one writer; then it is [driver.ErrBusy]. Migrations wait
	// longer. Zero: until its context ends. A watch of the pools would end with it.
	BusyTimeout time.Duration
	// Grace is how long a COMMIT may go on after its context ended; zero: 1 s.
	Grace time.Duration
	// ViewTime is how long a View may last; zero: driver.ViewTime.
	ViewTime time.Duration
	// Wait pauses before a transaction runs again, in real time, since a mocked
	// clock would stand still; nil: a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Store is a driver.Store over pools of connections. Adapters embed it. Its methods
// may be called from any number of goroutines.
type Store struct {
	cfg    Config
	names  naming
	tables sync.Map // *driver.Schema to table
	blobs  driver.Blobs
	waker  driver.Waker
	losses driver.Losses
	memory memory

	unreplicated doubt // whether the primary shows a commit that no standby has
	preparation  preparation
}

var _ driver.Store = (*Store)(nil)

// New checks cfg, treats the migrations as cfg.Migrate says, and returns the
// store. It does not own the handles: the adapter closes them, also if New fails.
func New(ctx context.Context, cfg Config) (*Store, error) {
	names := naming{Dialect: cfg.Dialect, Schema: cfg.Schema, Prefix: cfg.Prefix}
	if err := names.check(); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, names: names, memory: memory{suspect: newDoubt()}, unreplicated: newDoubt()}
	s.defaults()
	s.preparation.turn, s.preparation.mono = make(chan struct{}, 1), clock.New()
	if s.preparation.done.Store(cfg.Prepare == nil); cfg.Prepare == nil {
		if err := s.migrate(ctx); err != nil {
			return nil, err
		}
	}
	blobs, err := driver.NewBlobs(s.cfg.Outer, cfg.BlobDir)
	if err != nil {
		return nil, err
	}
	s.blobs = blobs
	return s, nil
}

func (s *Store) defaults() {
	c := &s.cfg
	if c.Outer == nil {
		c.Outer = s
	}
	if c.Reader == nil {
		c.Reader = c.Writer
	}
	if c.Clock == nil {
		c.Clock = clock.New()
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	} else {
		c.Rand = &sharedReader{r: c.Rand}
	}
	if c.Grace == 0 {
		c.Grace = time.Second
	}
	if c.ViewTime == 0 {
		c.ViewTime = driver.ViewTime
	}
	if c.Wait == nil {
		c.Wait = wait
	}
}

// sharedReader lets many goroutines read a source that is made for one.
type sharedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (s *sharedReader) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(p)
}

// Blobs keeps payloads in the database, or in the folder of Options.BlobDir.
func (s *Store) Blobs() driver.Blobs { return s.blobs }

// Clock is Options.Clock.
func (s *Store) Clock() driver.Clock { return s.cfg.Clock }

// Rand is Options.Rand.
func (s *Store) Rand() io.Reader { return s.cfg.Rand }

// Waker tells pollers of this process about rows that became due.
func (s *Store) Waker() *driver.Waker { return &s.waker }

// Losses are what the database has forgotten of what this process saw committed.
func (s *Store) Losses() *driver.Losses { return &s.losses }

// Identity reads the stored identity and the present one; see [driver.Identity]. It
// compares the database with what this process saw committed: a pool of the host's does
// not tell of its new connections, and a file is replaced without a word.
func (s *Store) Identity(ctx context.Context) (driver.Identity, error) {
	s.Suspect()
	present := ""
	if s.cfg.SystemIdentifier != nil {
		var err error
		if present, err = s.cfg.SystemIdentifier(ctx); err != nil {
			return driver.Identity{}, s.failed(ctx, "system identifier", err)
		}
	}
	id, err := driver.LoadIdentity(ctx, s.cfg.Outer, s.cfg.Environment, present)
	id.StopOnLoss = s.cfg.StopOnLoss
	return id, err
}
