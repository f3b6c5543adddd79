package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage"
)

// session is one connection of a pool while a transaction or a read has it.
type session struct {
	*sql.Conn
	store *Store
	done  func() error // Config.Watch's answer
}

// open takes a connection from a pool.
func (s *Store) open(ctx context.Context, db *sqlx.DB) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, s.failed(ctx, "connect", err)
	}
	x := &session{Conn: conn, store: s, done: func() error { return nil }}
	if s.cfg.Watch == nil {
		return x, nil
	}
	err = conn.Raw(func(c any) error {
		x.done = s.cfg.Watch(ctx, c)
		return nil
	})
	if err != nil {
		_ = x.release(true)
		return nil, s.failed(ctx, "connect", err)
	}
	return x, nil
}

// release gives the connection back, or closes it if it is broken.
func (x *session) release(broken bool) error {
	err := x.done()
	if broken {
		_ = x.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = x.Close()
	return err
}

// begin opens a transaction. A connection that broke while it lay idle in the
// pool is replaced, as database/sql would do.
func (s *Store) begin(ctx context.Context) (*session, error) {
	for idle := s.cfg.Writer.Stats().OpenConnections; ; idle-- {
		x, err := s.open(ctx, s.cfg.Writer)
		if err != nil {
			return nil, err
		}
		_, err = x.ExecContext(s.inside(ctx), s.cfg.Dialect.begin)
		if err == nil {
			return x, nil
		}
		f := s.failed(ctx, "begin", err)
		x.rollback(ctx)
		if f.class != Connection || ctx.Err() != nil || idle <= 0 {
			return nil, f
		}
	}
}

// rollback ends the transaction without its writes; if that fails, the server
// ends it with the connection.
func (x *session) rollback(ctx context.Context) {
	_ = x.bounded(ctx, func(ctx context.Context) error {
		_, err := x.ExecContext(ctx, "ROLLBACK")
		if err != nil && strings.Contains(err.Error(), "no transaction is active") {
			err = nil // SQLite has ended it by itself
		}
		return x.release(err != nil)
	})
}

// commit makes the writes of the transaction last. An answer that does not tell
// whether it happened is [storage.ErrOutcomeUnknown].
func (x *session) commit(ctx context.Context) error {
	return x.bounded(ctx, func(ctx context.Context) error {
		_, err := x.ExecContext(ctx, "COMMIT")
		if err == nil {
			return unknown(x.release(false))
		}
		f := x.store.failed(context.Background(), "commit", err)
		switch f.class {
		case Unique, Busy, LockTimeout, Serialization, ReadOnly:
			x.rollback(context.Background())
			return f
		}
		_ = x.release(true)
		return unknown(err)
	})
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: commit: %w", storage.ErrOutcomeUnknown, err)
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
