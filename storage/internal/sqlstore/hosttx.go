package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/belfry-go/belfry/storage/driver"
)

// InHostTx runs f in a transaction that begin opens for a host; see [Store.InHostTx].
func InHostTx[H HostTx](ctx context.Context, s *Store, begin func(context.Context, Conn) (H, error), f func(context.Context, H, driver.Tx) error) error {
	again := false
	waiting, end := s.waiting(ctx)
	defer end()
	return s.repeat(waiting, lockTries, func() (Class, error) {
		x := &tx{store: s, joined: true, again: again}
		again = true
		conn, host, err := beginHost(waiting, s, begin)
		if err != nil {
			return classOf(err), err
		}
		x.db = host
		return s.inHostTx(ctx, x, conn, host, func(ctx context.Context, bound driver.Tx) error { return f(ctx, host, bound) })
	})
}

func (s *Store) inHostTx(ctx context.Context, x *tx, conn *session, host HostTx, f func(context.Context, driver.Tx) error) (Class, error) {
	inner, end := s.hosting(ctx)
	defer end()
	returned := false
	undo := func(class Class) {
		x.err = errOver
		_ = conn.bounded(ctx, func(ctx context.Context) error {
			failed := host.Rollback(ctx) != nil
			return conn.Release(failed || class == ReadOnly) // a replica: see begun
		})
		x.restore()
	}
	defer func() {
		if !returned { // f panicked, or a test ended in it
			undo(Unknown)
		}
	}()
	err := f(inner, x)
	returned = true
	if err == nil {
		err = x.usable(ctx)
	}
	if err != nil {
		class := s.classIn(x, err)
		undo(class)
		if lost := errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone); lost && !errors.Is(err, driver.ErrUnavailable) {
			err = s.failed(ctx, "statement of the host", err)
		}
		return class, err
	}
	x.err = errOver
	if err := conn.commit(ctx, host.Commit); err != nil {
		if !errors.Is(err, driver.ErrOutcomeUnknown) {
			x.restore()
		}
		return classOf(err), err
	}
	s.committed(x)
	return Unknown, nil
}

// classIn is the class of what ended the function of a host's transaction: a verb's
// error, or one of the host's own statements.
func (s *Store) classIn(x *tx, err error) Class {
	if class := classOf(x.err); class != Unknown {
		return class
	}
	return s.cfg.Classify(err)
}

// beginHost opens a transaction that a host can hold.
func beginHost[H HostTx](ctx context.Context, s *Store, begin func(context.Context, Conn) (H, error)) (x *session, host H, err error) {
	if err := s.replicated(ctx); err != nil {
		return nil, host, err
	}
	x, err = s.begun(ctx, s.cfg.Writer, func(c Conn) (err error) {
		host, err = begin(ctx, c)
		return err
	})
	return x, host, err
}

// hostKey is where the context of a host's function carries its transaction, for each
// store.
type hostKey struct{ store *Store }

// hostCall is a host's function that runs, until its transaction ends.
type hostCall struct{ over atomic.Bool }

// hosting gives the context for a host's function. What is called with it and is not
// bound to the transaction is refused until end.
func (s *Store) hosting(ctx context.Context) (inner context.Context, end func()) {
	call := &hostCall{}
	return context.WithValue(ctx, hostKey{s}, call), func() { call.over.Store(true) }
}

// unbound refuses a connection to a call that has the context of a host's function: it
// would not see what the transaction wrote, would outlive its roll-back, and could wait
// for it for ever.
func (s *Store) unbound(ctx context.Context) error {
	if call, ok := ctx.Value(hostKey{s}).(*hostCall); !ok || call.over.Load() {
		return nil
	}
	return fmt.Errorf("%w: this context is that of a function of InHostTx, and the call is not in its transaction: bind it (WithTx), or make it outside of the function", driver.ErrJoined)
}
