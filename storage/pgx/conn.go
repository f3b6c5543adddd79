package pgx

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jackc/puddle/v2"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// connector takes connections from a pool, and says what to do about those that there
// are not.
type connector struct {
	sqldriver.Connector
	hosts int
}

func newConnector(p *pgxpool.Pool) connector {
	cfg := p.Config().ConnConfig
	hosts := map[string]bool{net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))): true}
	for _, f := range cfg.Fallbacks { // one for each way to encrypt, too
		hosts[net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port)))] = true
	}
	return connector{stdlib.GetPoolConnector(p), len(hosts)}
}

func (c connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	switch {
	case errors.Is(err, puddle.ErrClosedPool):
		return nil, driver.ErrClosed
	case err != nil:
		return nil, pgserver.NoPrimary(err, c.hosts)
	}
	return conn, nil
}

// database is a store's pool as the shared SQL takes it.
type database struct {
	*sqlstore.Database
	size int
}

// Size is how many connections may lie idle: database/sql keeps none.
func (d database) Size() int { return d.size }

func (s *Store) database() sqlstore.Pool {
	return database{sqlstore.NewDatabase(s.db, watch), int(s.pool.Config().MaxConns)}
}

// timeline is where a connection notes that of its server.
const timeline = "belfry.timeline"

// admit asks a new connection whether its server is the present primary; else pgx goes on
// to the next host. inner is asked where that is not known.
func (s *Store) admit(inner pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, c *pgconn.PgConn) error {
		results, err := c.Exec(ctx, pgserver.WhoSQL).ReadAll()
		who := ""
		if err == nil {
			who = string(results[0].Rows[0][0])
		}
		is, err := s.follows.Admit(who, err)
		if err == nil && is == 0 {
			return inner(ctx, c)
		}
		c.CustomData()[timeline] = is
		return err
	}
}

// unsynced is where a connection notes that the server gave up waiting for a standby.
const unsynced = "belfry.unsynced"

// errUnsynced is what a COMMIT comes to that did not wait for its standby.
var errUnsynced = errors.New("pgx: COMMIT stopped waiting for the synchronous standby: committed here, perhaps not there")

// notice sees each NOTICE and WARNING. That a COMMIT was cancelled while it waited for a
// synchronous standby comes as a warning and not as an error. It is told by the
// routine's name, since messages are translated.
func notice(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[unsynced] = true
	}
}

// watch tells what a connection noted while a call had it, and closes it if it is broken:
// the pool would take it back.
func watch(_ context.Context, driverConn any) func(broken bool) error {
	conn := driverConn.(*stdlib.Conn).Conn()
	noted := conn.PgConn().CustomData()
	delete(noted, unsynced)
	return func(broken bool) error {
		if broken {
			discard(conn)
		}
		if noted[unsynced] == true {
			return errUnsynced
		}
		return nil
	}
}

// discard closes a connection, and does not wait for a silent network.
func discard(c *pgx.Conn) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Close(over)
}

// hostTx is a transaction that a host holds, as the shared SQL takes it.
type hostTx struct{ pgx.Tx }

func begin(ctx context.Context, c sqlstore.Conn) (host hostTx, err error) {
	err = c.(interface{ Raw(func(any) error) error }).Raw(func(raw any) error {
		host.Tx, err = raw.(*stdlib.Conn).Conn().Begin(ctx)
		return err
	})
	return host, err
}

func (h hostTx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := h.Tx.Exec(ctx, text, args...)
	return tag.RowsAffected(), err
}

func (h hostTx) Query(ctx context.Context, text string, args []any, read func(sqlstore.Rows) error) error {
	rows, err := h.Tx.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		return err
	}
	return rows.Err()
}

const (
	minRelisten = 100 * time.Millisecond
	maxRelisten = time.Minute
)

// listener makes the function that listens, on a connection of its own, until its
// context ends.
func listener(pool *pgx.ConnConfig) func(ctx context.Context, hear func(payload string)) {
	return func(ctx context.Context, hear func(payload string)) {
		cfg := pool.Copy()
		cfg.DialFunc = (&pgserver.Dialer{Life: ctx}).DialContext // no bound: mostly there is nothing to hear
		for wait := minRelisten; ctx.Err() == nil; wait = min(2*wait, maxRelisten) {
			if listen(ctx, cfg, hear) {
				wait = minRelisten
			}
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
		}
	}
}

// listen hears until ctx ends or the connection breaks, and tells whether it listened.
func listen(ctx context.Context, cfg *pgx.ConnConfig, hear func(payload string)) bool {
	c, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return false
	}
	defer discard(c)
	if _, err := c.Exec(ctx, "LISTEN "+pgserver.Channel); err != nil {
		return false
	}
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		hear(n.Payload)
	}
}
