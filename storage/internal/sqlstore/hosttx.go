package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// InHostTx runs f in a transaction that begin opens for a host; see [Store.InHostTx].
func InHostTx[H HostTx](ctx context.Context, s *Store, begin func(context.Context, Conn) (H, error), f func(H, driver.Tx) error) error {
	again := false
	return s.repeat(ctx, lockTries, func() (sqltext.Class, error) {
		x := &tx{store: s, joined: true, again: again}
		again = true
		conn, host, err := beginHost(ctx, s, begin)
		if err != nil {
			return classOf(err), err
		}
		x.db = host
		return s.inHostTx(ctx, x, conn, host, func(bound driver.Tx) error { return f(host, bound) })
	})
}

func (s *Store) inHostTx(ctx context.Context, x *tx, conn *session, host HostTx, f func(driver.Tx) error) (sqltext.Class, error) {
	defer s.holder.begin(s.cfg.Writer)()
	returned := false
	undo := func() {
		x.err = errOver
		_ = conn.bounded(ctx, func(ctx context.Context) error {
			return conn.Release(host.Rollback(ctx) != nil)
		})
		x.restore()
	}
	defer func() {
		if !returned { // f panicked, or a test ended in it
			undo()
		}
	}()
	err := f(s.cfg.Dialect.able(x))
	returned = true
	if err == nil {
		err = x.usable(ctx)
	}
	if err != nil {
		class := s.classIn(x, err)
		undo()
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
	return sqltext.Unknown, nil
}

// classIn is the class of what ended the function of a host's transaction: a verb's
// error, or one of the host's own statements.
func (s *Store) classIn(x *tx, err error) sqltext.Class {
	if class := classOf(x.err); class != sqltext.Unknown {
		return class
	}
	return s.cfg.Classify(err)
}

// beginHost opens a transaction that a host can hold.
func beginHost[H HostTx](ctx context.Context, s *Store, begin func(context.Context, Conn) (H, error)) (x *session, host H, err error) {
	for idle := s.cfg.Writer.Size(); ; idle-- {
		if x, err = s.open(ctx, s.cfg.Writer); err != nil {
			return nil, host, err
		}
		if host, err = begin(ctx, x.Conn); err == nil {
			return x, host, nil
		}
		f := s.failed(ctx, "begin", err)
		_ = x.Release(f.class == sqltext.Connection)
		if f.class != sqltext.Connection || ctx.Err() != nil || idle <= 0 {
			return nil, host, f
		}
	}
}

// holder is the goroutine whose host's transaction has the only connection that writes.
type holder struct{ goroutine atomic.Pointer[string] }

// begin notes the goroutine until the function that it returns is called. Where there
// are several connections nobody waits for himself.
func (h *holder) begin(pool Pool) (end func()) {
	if !pool.Single() {
		return func() {}
	}
	name := goroutine()
	h.goroutine.Store(&name)
	return func() { h.goroutine.Store(nil) }
}

// refuse is what a call comes to that would wait for its own goroutine.
func (h *holder) refuse() error {
	held := h.goroutine.Load()
	if held == nil || *held != goroutine() {
		return nil
	}
	return fmt.Errorf("%w: this goroutine is inside InHostTx, and the call is not bound to it: use WithTx", driver.ErrJoined)
}

// goroutine names the running goroutine, as a stack's first line does: there is no
// other way to know.
func goroutine() string {
	var line [40]byte
	name, _, _ := bytes.Cut(line[:runtime.Stack(line[:], false)], []byte(" ["))
	return string(name)
}
