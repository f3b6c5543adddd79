package sqlstore

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
)

// Store is a storage.Store over database/sql. Adapters embed it. Its methods
// may be called from any number of goroutines.
type Store struct {
	cfg    Config
	names  names
	tables sync.Map // *storage.Schema to *table
	blobs  storage.Blobs
	waker  storage.Waker
}

var _ storage.Store = (*Store)(nil)

// New checks cfg, treats the migrations as cfg.Migrate says, and returns the
// store. It does not own the handles: the adapter closes them, also if New fails.
func New(ctx context.Context, cfg Config) (*Store, error) {
	names := names{dialect: cfg.Dialect, schema: cfg.Schema, prefix: cfg.Prefix}
	if err := names.check(); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, names: names}
	s.defaults()
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	blobs, err := storage.NewBlobs(s.cfg.Outer, cfg.BlobDir)
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
func (s *Store) Blobs() storage.Blobs { return s.blobs }

// Clock is Options.Clock.
func (s *Store) Clock() clock.Clock { return s.cfg.Clock }

// Rand is Options.Rand.
func (s *Store) Rand() io.Reader { return s.cfg.Rand }

// Waker tells pollers of this process about rows that became due.
func (s *Store) Waker() *storage.Waker { return &s.waker }

// Identity reads the stored identity and the present one; see [storage.Identity].
func (s *Store) Identity(ctx context.Context) (storage.Identity, error) {
	present := ""
	if s.cfg.SystemIdentifier != nil {
		var err error
		if present, err = s.cfg.SystemIdentifier(ctx); err != nil {
			return storage.Identity{}, s.failed(ctx, "system identifier", err)
		}
	}
	return storage.LoadIdentity(ctx, s.cfg.Outer, s.cfg.Environment, present)
}
