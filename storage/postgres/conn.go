package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// errUnsynced is what a COMMIT comes to that did not wait for its standby.
var errUnsynced = errors.New("postgres: COMMIT stopped waiting for the synchronous standby: committed here, perhaps not there")

// connector opens connections whose calls end.
type connector struct {
	pq        *pq.Connector
	connected func() // called after each new connection
}

func newConnector(cfg pq.Config, d *pgserver.Dialer, connected func()) (*connector, error) {
	c, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, err
	}
	c.Dialer(d)
	return &connector{pq: c, connected: connected}, nil
}

// Driver is lib/pq's.
func (c *connector) Driver() driver.Driver { return c.pq.Driver() }

// Connect opens a connection within ctx and connect_timeout.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	a := &attempt{}
	stop := context.AfterFunc(ctx, a.end)
	inner, err := c.pq.Connect(context.WithValue(ctx, attemptKey{}, a))
	ended := !stop()
	switch {
	case err != nil && ended:
		return nil, fmt.Errorf("postgres: connect: %w: %w", ctx.Err(), err)
	case err != nil:
		return nil, refused(err)
	case ended:
		_ = inner.Close()
		return nil, ctx.Err()
	}
	out := &conn{pqConn: inner.(pqConn), net: a.conn()}
	pq.SetNoticeHandler(inner, out.notice)
	c.connected()
	return out, nil
}

// refused says what to do about a server that target_session_attrs refused.
func refused(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "server is in hot standby mode"):
		return &ServerError{Problem: text + "; " + pgserver.UsePrimary}
	case strings.Contains(text, "session is read-only"):
		return &ServerError{Problem: text + "; " + pgserver.UnsetReadOnly}
	}
	return fmt.Errorf("postgres: connect: %w", err)
}

// pqConn is what a connection of lib/pq can do.
type pqConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection of lib/pq together with its network connection.
type conn struct {
	pqConn
	net      *pgserver.Conn
	unsynced atomic.Bool // the server gave up waiting for a standby
	expired  atomic.Bool // a watch ended it
}

// IsValid keeps a connection that failed or expired out of the pool; under TLS
// the driver does not always notice.
func (c *conn) IsValid() bool {
	return !c.expired.Load() && !c.net.Broken() && c.pqConn.IsValid()
}

// Close says goodbye to the server, and does not mind if that gets lost: the
// network connection is closed in any case.
func (c *conn) Close() error {
	c.net.Expire(pgserver.Grace)
	_ = c.pqConn.Close()
	return nil
}

// notice sees each NOTICE and WARNING. That a COMMIT was cancelled while it
// waited for a synchronous standby comes as a warning and not as an error. It is
// told by the routine's name, since messages are translated.
func (c *conn) notice(n *pq.Error) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.unsynced.Store(true)
	}
}

// watch ends what goes on on the connection soon after ctx has ended, whatever
// the network does. The function that it returns ends the watch and tells
// whether a COMMIT under it is in doubt.
func (c *conn) watch(ctx context.Context) (done func(bool) error) {
	c.unsynced.Store(false)
	stop := context.AfterFunc(ctx, func() { c.net.Expire(pgserver.Grace) })
	return func(bool) error {
		if !stop() {
			c.expired.Store(true)
		}
		if c.unsynced.Load() {
			return errUnsynced
		}
		return nil
	}
}

// watch is what the shared SQL calls for each transaction and read; connections
// of a host's own pool are not watched.
func watch(ctx context.Context, driverConn any) (done func(bool) error) {
	if c, ok := driverConn.(*conn); ok {
		return c.watch(ctx)
	}
	return func(bool) error { return nil }
}

// classify says what an error of lib/pq, or of pgx through database/sql, means.
func classify(err error) sqltext.Class {
	if errors.Is(err, pq.ErrInFailedTransaction) {
		return sqltext.Undone
	}
	return pgserver.Classify(err)
}
