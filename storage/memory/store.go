// Package memory keeps a store in the process: the reference adapter of package
// storage, for tests, examples and programs that may forget.
//
// Transactions run one after the other under one lock, and what they wrote is
// undone when they fail. Rows are private copies in exactly the form in which a
// database would give them back. There is no host transaction to join: inside
// InTx call only what is bound to its Tx, or the call waits for itself.
package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
)

// Options are the choices of [New]. A nil *Options and the zero value are ready.
type Options struct {
	// Clock is the time of everything that works on the store. Default: the
	// machine's clock. Tests give a mock.
	Clock driver.Clock
	// Rand gives tokens and generated names. Default: crypto/rand.
	Rand io.Reader
	// Environment is the name that the host gives this store; see
	// [driver.Identity]. Empty: none.
	Environment string
}

// Store is a [driver.Store] in memory. Methods may be called from any number
// of goroutines. It needs no closing.
type Store struct {
	opts   Options
	turn   chan struct{} // holds one element while no transaction is inside
	tables map[string]*table
	calls  uint64 // of verbs, ever; see entry.call
	blobs  driver.Blobs
	waker  driver.Waker
	losses driver.Losses
}

var _ driver.Store = (*Store)(nil)

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
	s.blobs, _ = driver.NewBlobs(s, "") // only a folder can fail
	return s
}

// Blobs keeps payloads in the store itself.
func (s *Store) Blobs() driver.Blobs { return s.blobs }

// Clock is Options.Clock.
func (s *Store) Clock() driver.Clock { return s.opts.Clock }

// Rand is Options.Rand.
func (s *Store) Rand() io.Reader { return s.opts.Rand }

// Waker tells pollers of this process about rows that became due.
func (s *Store) Waker() *driver.Waker { return &s.waker }

// Losses has none: what is gone with the process is not looked for.
func (s *Store) Losses() *driver.Losses { return &s.losses }

// Identity has the environment's name and no system identifier.
func (s *Store) Identity(ctx context.Context) (driver.Identity, error) {
	return driver.LoadIdentity(ctx, s, s.opts.Environment, "")
}

// Next looks at the due order from each cursor on; see [driver.Store].
func (s *Store) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) ([]driver.Cursor, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	t, err := s.table(schema)
	if err != nil {
		return nil, err
	}
	return t.next(c, driver.Time(horizon)), nil
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

var errOver = errors.New("memory: the transaction is over")

// tx is one transaction. Only its goroutine is inside the store meanwhile.
type tx struct {
	store *Store
	undo  []change
	told  []mark
	hints driver.Hints
	call  uint64 // the number of the verb under way
	err   error  // set once a verb failed or the transaction is over
}

// change is what a row was before a write; old is nil if it did not exist.
type change struct {
	t   *table
	e   *entry
	old *image
}

// mark is what a caller's struct said before a verb gave it a new id or version.
type mark struct {
	rec         *driver.Record
	id, version int64
}

var _ driver.Tx = (*tx)(nil)

// InTx runs f once, alone. Everything it wrote is undone if it fails, panics, or
// ctx has ended by then, and so are the ids and versions that it gave to structs.
func (s *Store) InTx(ctx context.Context, f func(driver.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	t := &tx{store: s}
	if err := t.run(ctx, f); err != nil {
		return err
	}
	t.hints.Send(&s.waker)
	return nil
}

// View runs f once, alone, as InTx does.
func (s *Store) View(ctx context.Context, f func(driver.Reader) error) error {
	return s.InTx(ctx, func(tx driver.Tx) error { return f(tx) })
}

// run commits in the deferred call, which also sees a panic or a Goexit in f.
func (t *tx) run(ctx context.Context, f func(driver.Tx) error) error {
	committed := false
	defer func() {
		if !committed {
			t.rollBack()
		}
		t.err = errOver
		t.store.leave()
	}()
	if err := f(t); err != nil {
		return err
	}
	if t.err != nil {
		return t.err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: commit: %w", err)
	}
	committed = true
	return nil
}

func (t *tx) rollBack() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		c := t.undo[i]
		c.t.set(c.e, c.old)
	}
	for i := len(t.told) - 1; i >= 0; i-- {
		m := t.told[i]
		m.rec.ID, m.rec.Version = m.id, m.version
	}
}

// Store is the store that began the transaction.
func (t *tx) Store() driver.Store { return t.store }

// table begins a verb: it refuses a transaction that has failed or is over.
func (t *tx) table(ctx context.Context, s *driver.Schema) (*table, error) {
	if t.err != nil {
		return nil, t.err
	}
	if err := ctx.Err(); err != nil {
		return nil, t.fail(fmt.Errorf("memory: %s: %w", s.Name, err))
	}
	tab, err := t.store.table(s)
	if err != nil {
		return nil, t.fail(err)
	}
	t.store.calls++
	t.call = t.store.calls
	return tab, nil
}

func (t *tx) fail(err error) error {
	t.err = err
	return err
}

// write makes img the row of e, nil to delete it, and notes how to undo that.
func (t *tx) write(tab *table, e *entry, img *image) {
	t.undo = append(t.undo, change{tab, e, e.img})
	tab.set(e, img)
}

// tell gives a caller's struct its id and version, until the transaction is undone.
func (t *tx) tell(rec *driver.Record, id, version int64) {
	t.told = append(t.told, mark{rec, rec.ID, rec.Version})
	rec.ID, rec.Version = id, version
}
