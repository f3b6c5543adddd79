package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// InHostTx runs f in one transaction of the host and commits it when f returns nil: what
// f does with host, and what it ensures through bound (with the WithTx of a domain),
// commits together. It begins as the database needs it, and runs f again where InTx
// would, so f has no effects outside of the transaction. Behind the commit pollers hear
// of what became due. f neither commits nor rolls back, and its statements should have
// ctx. An unknown outcome is [driver.ErrOutcomeUnknown].
//
// On SQLite, which has one writer, a call inside f that is not bound could wait for ever
// for this transaction; it is refused with [driver.ErrJoined] at once.
func (s *Store) InHostTx(ctx context.Context, f func(host *sql.Tx, bound driver.Tx) error) error {
	again := false
	return s.repeat(ctx, lockTries, func() (sqltext.Class, error) {
		x := &tx{store: s, joined: true, again: again}
		again = true
		return s.inHostTx(ctx, x, f)
	})
}

func (s *Store) inHostTx(ctx context.Context, x *tx, f func(*sql.Tx, driver.Tx) error) (sqltext.Class, error) {
	conn, host, err := s.beginHost(ctx)
	if err != nil {
		return classOf(err), err
	}
	defer s.holder.begin(s.cfg.Writer)()
	x.db = host
	returned := false
	undo := func() {
		x.err = errOver
		_ = conn.bounded(ctx, func(context.Context) error {
			return conn.release(host.Rollback() != nil)
		})
		x.restore()
	}
	defer func() {
		if !returned { // f panicked, or a test ended in it
			undo()
		}
	}()
	err = f(host, s.cfg.Dialect.able(x))
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
	if err := conn.commit(ctx, func(context.Context) error { return host.Commit() }); err != nil {
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

// beginHost opens a transaction that a host can hold. Its own context does not end it:
// whether it was committed would then be a matter of luck.
func (s *Store) beginHost(ctx context.Context) (*session, *sql.Tx, error) {
	for idle := s.cfg.Writer.Stats().OpenConnections; ; idle-- {
		x, err := s.open(ctx, s.cfg.Writer)
		if err != nil {
			return nil, nil, err
		}
		host, err := x.BeginTx(context.WithoutCancel(ctx), nil)
		if err == nil {
			return x, host, nil
		}
		f := s.failed(ctx, "begin", err)
		_ = x.release(f.class == sqltext.Connection)
		if f.class != sqltext.Connection || ctx.Err() != nil || idle <= 0 {
			return nil, nil, f
		}
	}
}

// holder is the goroutine whose host's transaction has the only connection that writes.
type holder struct{ goroutine atomic.Pointer[string] }

// begin notes the goroutine until the function that it returns is called. Where there
// are several connections nobody waits for himself.
func (h *holder) begin(pool *sqlx.DB) (end func()) {
	if pool.Stats().MaxOpenConnections != 1 {
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
