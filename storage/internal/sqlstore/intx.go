package sqlstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// lockTries is how often a transaction is run that could not get a lock. The
// caller may then come again with fewer rows.
const lockTries = 3

// InTx runs f in a transaction of its own. It runs f again after a serialization
// failure, a deadlock, a key that was taken although none was expected to be, or a
// busy database until ctx ends, and at most twice more after a lock time-out; all
// then give [storage.ErrBusy]. A panic in f rolls
// back. Structs whose id or version a run changed are as before it unless it was
// committed, or may have been. When COMMIT has not been answered within a second
// after the end of ctx, or its answer is lost, the error is
// [storage.ErrOutcomeUnknown].
func (s *Store) InTx(ctx context.Context, f func(storage.Tx) error) error {
	again := false
	return s.repeat(ctx, lockTries, func() (Class, error) {
		x := &tx{store: s, again: again}
		again = true
		return s.once(ctx, x, f)
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
		if ended := s.pause(ctx, try); ended != nil {
			return fmt.Errorf("%w (after %d tries: %w)", err, try, ended)
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
// failure, never of an error that f got elsewhere.
func (s *Store) once(ctx context.Context, x *tx, f func(storage.Tx) error) (Class, error) {
	conn, err := s.begin(ctx)
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
	if err := conn.commit(ctx); err != nil {
		if !errors.Is(err, storage.ErrOutcomeUnknown) {
			x.restore()
		}
		return classOf(err), err
	}
	x.hints.Send(&s.waker)
	if s.cfg.Committed != nil && len(x.hints) > 0 {
		s.cfg.Committed(x.hints)
	}
	return Unknown, nil
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
