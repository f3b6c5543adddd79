package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// errUnsynced is what a COMMIT comes to that did not wait for its standby.
var errUnsynced = errors.New("postgres: COMMIT stopped waiting for the synchronous standby: committed here, perhaps not there")

// connector opens connections whose calls end, to the first host that takes writes.
type connector struct {
	hosts   []*pq.Connector
	shuffle bool
	follows *pgserver.Following
}

func newConnector(cfg pq.Config, d *pgserver.Dialer, follows *pgserver.Following) (*connector, error) {
	c := &connector{follows: follows, shuffle: cfg.LoadBalanceHosts == pq.LoadBalanceHostsRandom}
	first := pq.ConfigMultihost{Host: cfg.Host, Hostaddr: cfg.Hostaddr, Port: cfg.Port}
	for _, host := range append([]pq.ConfigMultihost{first}, cfg.Multi...) {
		one := cfg.Clone()
		one.Host, one.Hostaddr, one.Port, one.Multi = host.Host, host.Hostaddr, host.Port, nil
		made, err := pq.NewConnectorConfig(one)
		if err != nil {
			return nil, err
		}
		made.Dialer(d)
		c.hosts = append(c.hosts, made)
	}
	return c, nil
}

// Driver is lib/pq's.
func (c *connector) Driver() driver.Driver { return c.hosts[0].Driver() }

// Connect opens a connection within ctx and connect_timeout, which each host has.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	hosts, a := c.hosts, &attempt{}
	if c.shuffle {
		hosts = slices.Clone(hosts)
		rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	}
	stop := context.AfterFunc(ctx, a.end)
	defer stop()
	var errs []error
	for _, host := range hosts {
		out, err := c.connect(ctx, a, host)
		switch {
		case ctx.Err() != nil && err == nil:
			_ = out.Close()
			return nil, ctx.Err()
		case ctx.Err() != nil:
			return nil, fmt.Errorf("postgres: connect: %w: %w", ctx.Err(), err)
		case err == nil:
			c.follows.Reconnected()
			return out, nil
		}
		errs = append(errs, refused(err))
	}
	return nil, pgserver.NoPrimary(errors.Join(errs...), len(hosts))
}

// connect opens a connection to one host. lib/pq believes what a pooler says of a server
// that it has lost, so the server is asked.
func (c *connector) connect(ctx context.Context, a *attempt, host *pq.Connector) (*conn, error) {
	inner, err := host.Connect(context.WithValue(ctx, attemptKey{}, a))
	if err != nil {
		return nil, err
	}
	out := &conn{pqConn: inner.(pqConn), net: a.conn(), follows: c.follows}
	pq.SetNoticeHandler(inner, out.notice)
	if out.timeline, err = c.follows.Admit(out.who(ctx)); err != nil {
		_ = out.Close()
		return nil, err
	}
	return out, nil
}

func (c *conn) who(ctx context.Context) (string, error) {
	rows, err := c.QueryContext(ctx, pgserver.WhoSQL, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	answer := make([]driver.Value, 1)
	if err := rows.Next(answer); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s", answer[0]), nil
}

// refused says what to do about a server that target_session_attrs refused.
func refused(err error) error {
	switch text := err.Error(); {
	case errors.As(err, new(*ServerError)):
		return err
	case strings.Contains(text, "server is in hot standby mode"):
		return pgserver.ErrReplica
	case strings.Contains(text, "session is read-only"):
		return pgserver.ErrReadOnly
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
	follows  *pgserver.Following
	timeline int64       // of the server when it was asked; 0: not known
	unsynced atomic.Bool // the server gave up waiting for a standby
	expired  atomic.Bool // a watch ended it
}

// IsValid keeps a connection that failed or expired out of the pool; under TLS
// the driver does not always notice.
func (c *conn) IsValid() bool {
	return !c.expired.Load() && !c.net.Broken() && c.pqConn.IsValid()
}

// ResetSession is asked when the connection leaves the pool.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.follows.Outdated(c.timeline) {
		return driver.ErrBadConn
	}
	return c.pqConn.ResetSession(ctx)
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
func classify(err error) sqlstore.Class {
	if errors.Is(err, pq.ErrInFailedTransaction) {
		return sqlstore.Undone
	}
	return pgserver.Classify(err)
}
