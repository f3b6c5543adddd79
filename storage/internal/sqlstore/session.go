// Package sqlstore holds what the SQL adapters share: every verb in SQL once,
// the transaction loop, and the migration runner. An adapter adds a dialect, its
// migrations, and what it takes to open its database safely.
package sqlstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// session is one connection of a pool while a transaction or a read has it.
type session struct {
	Conn
	store *Store
}

// open takes a connection from a pool, for a call that is not inside of a host's
// transaction.
func (s *Store) open(ctx context.Context, pool Pool) (*session, error) {
	if err := cmp.Or(s.unbound(ctx), s.prepared(ctx)); err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, s.unconnected(ctx, err)
	}
	return &session{Conn: conn, store: s}, nil
}

// unconnected says that there is no connection, for whatever reason: a server that
// starts, a password that is being changed, a proxy that gave up.
func (s *Store) unconnected(ctx context.Context, err error) error {
	if errors.Is(err, driver.ErrClosed) {
		return err
	}
	f := s.failed(ctx, "connect", err)
	if f.class == Unknown && f.means == nil && ctx.Err() == nil {
		f.class, f.means = Connection, driver.ErrUnavailable
	}
	return f
}

// begin opens a transaction by text.
func (s *Store) begin(ctx context.Context, pool Pool, text string) (*session, error) {
	return s.begun(ctx, pool, func(c Conn) error {
		_, err := c.Exec(s.inside(ctx), text)
		if err == nil && text == s.cfg.Dialect.begin { // a replica, which may be behind, refuses that one
			err = s.recall(ctx, c)
		}
		return err
	})
}

// begun takes a connection on which a transaction begins. One that broke while it lay
// idle in the pool is replaced, as database/sql would do, and so is one to a server that
// takes no writes: behind a pooler a connection outlives its server, which may come back
// as a replica.
func (s *Store) begun(ctx context.Context, pool Pool, begin func(Conn) error) (*session, error) {
	for idle := pool.Size(); ; idle-- {
		x, err := s.open(ctx, pool)
		if err != nil {
			return nil, err
		}
		if err = begin(x.Conn); err == nil {
			return x, nil
		}
		f := s.failed(ctx, "begin", err)
		switch f.class {
		case Unsupported:
			f.class, f.means = ReadOnly, cmp.Or(f.means, driver.ErrUnavailable)
			fallthrough
		case ReadOnly, Connection:
			_ = x.Release(true)
			if ctx.Err() == nil && idle > 0 {
				continue
			}
		default:
			x.rollback(ctx)
		}
		return nil, f
	}
}

// rollback ends the transaction without its writes; if that fails, the server
// ends it with the connection.
func (x *session) rollback(ctx context.Context) {
	_ = x.bounded(ctx, func(ctx context.Context) error {
		_, err := x.Exec(ctx, "ROLLBACK")
		if err != nil && strings.Contains(err.Error(), "no transaction is active") {
			err = nil // SQLite has ended it by itself
		}
		return x.Release(err != nil)
	})
}

// commit makes the writes of the transaction last, by what says so. An answer that does
// not tell whether it happened is [driver.ErrOutcomeUnknown].
func (x *session) commit(ctx context.Context, say func(context.Context) error) (err error) {
	defer func() {
		if errors.Is(err, driver.ErrOutcomeUnknown) {
			x.store.unreplicated.raise()
		}
	}()
	return x.bounded(ctx, func(ctx context.Context) error {
		err := say(ctx)
		if err == nil {
			return unknown(x.Release(false))
		}
		f := x.store.failed(context.Background(), "commit", err)
		switch f.class {
		case Unique, Busy, LockTimeout, Serialization, ReadOnly, NoRoom, Undone:
			x.rollback(context.Background())
			return f
		}
		_ = x.Release(true)
		return unknown(err)
	})
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: commit: %w", driver.ErrOutcomeUnknown, err)
}

// bounded runs the end of a transaction with a context that is not cancelled:
// a cancelled COMMIT may have happened, and says that it did not, or the other
// way round. When it goes on for longer than the grace after ctx ended, it is
// left alone and its outcome is unknown; its connection is then closed.
func (x *session) bounded(ctx context.Context, end func(context.Context) error) error {
	free := context.WithoutCancel(ctx)
	if ctx.Done() == nil {
		return end(free)
	}
	var cancel context.CancelFunc = func() {}
	if !x.store.cfg.Dialect.detached {
		free, cancel = context.WithCancel(free)
	}
	result := make(chan error, 1)
	go func() {
		defer cancel()
		result <- end(free)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(x.store.cfg.Grace)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
		cancel()
		return unknown(context.Cause(ctx))
	}
}

// lockTries is how often a transaction is run that could not get a lock. The
// caller may then come again with fewer rows.
const lockTries = 3

// InTx runs f in a transaction of its own. It runs f again after a serialization
// failure, a deadlock, a key that was taken although none was expected to be, or a
// busy database until ctx ends or Config.BusyTimeout is over, and at most twice more
// after a lock time-out; all then give [driver.ErrBusy]. A panic in f rolls
// back. Structs whose id or version a run changed are as before it unless it was
// committed, or may have been. When COMMIT has not been answered within a second
// after the end of ctx, or its answer is lost, the error is
// [driver.ErrOutcomeUnknown].
func (s *Store) InTx(ctx context.Context, f func(driver.Tx) error) error {
	again := false
	waiting, end := s.waiting(ctx)
	defer end()
	return s.repeat(waiting, lockTries, func() (Class, error) {
		x := &tx{store: s, again: again}
		again = true
		return s.once(ctx, waiting, x, f)
	})
}

// View runs f over one snapshot, on a connection that reads. It is over when ctx
// ends, or after [driver.ViewTime].
func (s *Store) View(ctx context.Context, f func(driver.Reader) error) error {
	waiting, end := s.waiting(ctx)
	defer end()
	return s.repeat(waiting, lockTries, func() (Class, error) {
		conn, err := s.begin(waiting, s.cfg.Reader, s.cfg.Dialect.view)
		if err != nil {
			return classOf(err), err
		}
		life, end := context.WithTimeout(ctx, s.cfg.ViewTime)
		x := &tx{store: s, db: conn, life: life}
		defer func() {
			end()
			x.err = errOver
			conn.rollback(ctx)
		}()
		if err := f(x); err != nil {
			return classOf(x.err), err
		}
		return classOf(x.err), x.err
	})
}

// Probe runs text in a transaction that it takes back, to see whether it could.
func (s *Store) Probe(ctx context.Context, text string) error {
	waiting, end := s.waiting(ctx)
	defer end()
	return s.repeat(waiting, lockTries, func() (Class, error) {
		conn, err := s.begin(waiting, s.cfg.Writer, s.cfg.Dialect.begin)
		if err != nil {
			return classOf(err), err
		}
		defer conn.rollback(ctx)
		if _, err := conn.Exec(s.inside(ctx), text); err != nil {
			f := s.failed(ctx, "write", err)
			return f.class, f
		}
		return Unknown, nil
	})
}

// repeat calls f until it succeeds or its class says that trying again is of no
// use. tries bounds lock time-outs; zero: no bound.
func (s *Store) repeat(ctx context.Context, tries int, f func() (Class, error)) error {
	for try, waits := 1, 0; ; try++ {
		class, err := f()
		if class == LockTimeout {
			waits++
		}
		switch {
		case err == nil:
			return nil
		case class == LockTimeout && waits == tries:
			return err
		case class != LockTimeout && class != Busy && class != Serialization:
			return err
		}
		if over := s.pause(ctx, try); over != nil {
			return fmt.Errorf("%w (after %d tries: %w)", err, try, cmp.Or(ended(ctx), over))
		}
	}
}

// pause waits for a random time that grows with the tries: 1 to 64 ms, less up
// to a half.
func (s *Store) pause(ctx context.Context, try int) error {
	var random [2]byte
	if _, err := io.ReadFull(s.cfg.Rand, random[:]); err != nil {
		return err
	}
	d := time.Millisecond << min(try-1, 6)
	return s.cfg.Wait(ctx, d-d/2*time.Duration(binary.BigEndian.Uint16(random[:]))/(1<<16))
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once runs f in one transaction. The class is that of the transaction's own
// failure, never of an error that f got elsewhere. It waits for the lock with waiting.
func (s *Store) once(ctx, waiting context.Context, x *tx, f func(driver.Tx) error) (Class, error) {
	if err := s.replicated(waiting); err != nil {
		return classOf(err), err
	}
	conn, err := s.begin(waiting, s.cfg.Writer, s.cfg.Dialect.begin)
	if err != nil {
		return classOf(err), err
	}
	x.db = conn
	returned := false
	defer func() {
		if !returned { // f panicked, or a test ended in it
			x.rollback(ctx, conn)
		}
	}()
	err = f(x)
	returned = true
	if err == nil {
		err = x.usable(ctx)
	}
	if err != nil {
		class := classOf(x.err)
		x.rollback(ctx, conn)
		return class, err
	}
	x.err = errOver
	if err := conn.commit(ctx, conn.sayCommit); err != nil {
		if !errors.Is(err, driver.ErrOutcomeUnknown) {
			x.restore()
		}
		return classOf(err), err
	}
	s.committed(x)
	return Unknown, nil
}

func (x *session) sayCommit(ctx context.Context) error {
	_, err := x.Exec(ctx, "COMMIT")
	return err
}

// committed remembers that a transaction was, and tells who waits for it what it made due.
func (s *Store) committed(x *tx) {
	s.remember(x)
	x.hints.Send(&s.waker)
	if s.cfg.Committed != nil && len(x.hints) > 0 {
		s.cfg.Committed(x.hints)
	}
}

func (x *tx) rollback(ctx context.Context, conn *session) {
	x.err = errOver
	conn.rollback(ctx)
	x.restore()
}

func classOf(err error) Class {
	if f, ok := err.(*failure); ok {
		return f.class
	}
	return Unknown
}

// failure is an error of the database: what was under way, what it means to
// callers (nil: nothing in particular), and what the driver said.
type failure struct {
	op    string
	class Class
	means error
	cause error
}

func (f *failure) Error() string {
	if f.means != nil {
		return f.means.Error() + ": " + f.op + ": " + f.cause.Error()
	}
	return "storage: " + f.op + ": " + f.cause.Error()
}

func (f *failure) Unwrap() []error {
	if f.means != nil {
		return []error{f.means, f.cause}
	}
	return []error{f.cause}
}

// failed classifies an error. The end of ctx explains every other error, since
// drivers report it in many ways.
func (s *Store) failed(ctx context.Context, op string, err error) *failure {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	f := &failure{op: op, class: s.cfg.Classify(err), cause: err}
	s.suspected(f.class)
	switch f.class {
	case Busy, LockTimeout, Serialization:
		f.means = driver.ErrBusy
	case Connection, NoRoom, ReadOnly:
		f.means = driver.ErrUnavailable
	}
	switch cause := ended(ctx); {
	case cause == nil || errors.Is(err, cause):
	case cause == ctx.Err():
		f.means = cause
	case f.class == Busy || errors.Is(err, ctx.Err()): // it waited, and for nothing else
		f.means, f.cause = driver.ErrBusy, cause
	}
	return f
}
