package memory

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
)

// Options are the choices of [New]. A nil *Options and the zero value are ready.
type Options struct {
	// Clock is the time of everything that works on the store. Default: the
	// machine's clock. Tests give a mock.
	Clock clock.Clock
	// Rand gives tokens and generated names. Default: crypto/rand.
	Rand io.Reader
	// Environment is the name that the host gives this store; see
	// [storage.Identity]. Empty: none.
	Environment string
}

// Store is a [storage.Store] in memory. Methods may be called from any number
// of goroutines. It needs no closing.
type Store struct {
	opts   Options
	turn   chan struct{} // holds one element while nobody is inside
	tables map[string]*table
	calls  uint64 // of verbs, ever; see entry.call
	blobs  storage.Blobs
	waker  storage.Waker
}

var _ storage.Store = (*Store)(nil)

// New returns an empty store.
func New(opts *Options) *Store {
	s := &Store{turn: make(chan struct{}, 1), tables: map[string]*table{}}
	s.turn <- struct{}{}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Clock == nil {
		s.opts.Clock = clock.New()
	}
	if s.opts.Rand == nil {
		s.opts.Rand = rand.Reader
	}
	s.blobs, _ = storage.NewBlobs(s, "") // only a folder can fail
	return s
}

// Blobs keeps payloads in the store itself.
func (s *Store) Blobs() storage.Blobs { return s.blobs }

// Clock is Options.Clock.
func (s *Store) Clock() clock.Clock { return s.opts.Clock }

// Rand is Options.Rand.
func (s *Store) Rand() io.Reader { return s.opts.Rand }

// Waker tells pollers of this process about rows that became due.
func (s *Store) Waker() *storage.Waker { return &s.waker }

// Identity has the environment's name and no system identifier.
func (s *Store) Identity(ctx context.Context) (storage.Identity, error) {
	return storage.LoadIdentity(ctx, s, s.opts.Environment, "")
}

// Next looks at the due order from each cursor on; see [storage.Store].
func (s *Store) Next(ctx context.Context, schema *storage.Schema, c storage.Claim, horizon time.Time) (time.Time, error) {
	if err := s.enter(ctx); err != nil {
		return time.Time{}, err
	}
	defer s.leave()
	t, err := s.table(schema)
	if err != nil {
		return time.Time{}, err
	}
	return t.next(c, storage.Time(horizon)), nil
}

// enter waits for the turn of the caller, at most until ctx ends.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: begin: %w", err)
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("memory: waiting for another transaction: %w", ctx.Err())
	}
}

func (s *Store) leave() { s.turn <- struct{}{} }
