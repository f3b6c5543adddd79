package pgx

import (
	"context"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
)

// closeGrace is how long what is left of the network outlives its store.
const closeGrace = 750 * time.Millisecond

// network makes the connections of a pool that end with their store: what pgx closes by
// itself, behind a call that has ended, waits for a silent network for 15 s.
type network struct {
	pgserver.Dialer
	life context.Context
	end  context.CancelFunc
}

func (n *network) open(bound time.Duration) {
	n.life, n.end = context.WithCancel(context.Background())
	n.Bound(bound)
}

// dial is what pgx asks for, for each connection and for each that cancels a statement.
func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.life, cancel)()
	raw, err := n.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := raw.(*pgserver.Conn)
	return ending{c, context.AfterFunc(n.life, func() { c.Expire(closeGrace) })}, nil
}

// close closes a pool. It waits for no longer than the network may take: a transaction
// that a host forgot would keep it for ever.
func (n *network) close(pool func()) {
	n.end()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool()
	}()
	timer := time.NewTimer(closeGrace + 100*time.Millisecond)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// ending is a connection that ends with its store.
type ending struct {
	*pgserver.Conn
	forget func() bool
}

func (e ending) Close() error {
	e.forget()
	return e.Conn.Close()
}

const (
	minRelisten = 100 * time.Millisecond
	maxRelisten = time.Minute
)

// listener makes the function that listens, on a connection of its own, until its
// context ends.
func listener(pool *pgx.ConnConfig) func(ctx context.Context, hear func(payload string)) {
	return func(ctx context.Context, hear func(payload string)) {
		n := &network{}
		n.open(0) // most of the time there is nothing to hear
		cfg := pool.Copy()
		cfg.DialFunc = n.dial
		defer n.end()
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
	defer func() {
		over, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		_ = c.Close(over)
	}()
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
