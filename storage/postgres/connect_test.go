package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
)

// answered is a network connection that tells of each answer that has come.
type answered struct {
	net.Conn
	tell func()
}

func (a answered) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	a.tell()
	return n, err
}

// A context may end with any answer of the server, the last one too, behind which the
// connection is there.
func TestAContextMayEndAtAnyMomentOfConnecting(t *testing.T) {
	t.Parallel()
	cfg, _, err := parse(emptyDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 { // behind the last answer the driver may be quicker, or who ends the context
		if endsWithEachAnswer(t, cfg) {
			return
		}
	}
	t.Error("no context ended behind the last answer")
}

// endsWithEachAnswer connects until no answer is left with which the context could end, and
// reports whether one ended when the connection was there.
func endsWithEachAnswer(t *testing.T, cfg pq.Config) (whole bool) {
	t.Helper()
	for answers := int64(1); ; answers++ {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		d, came := newDialer(), atomic.Int64{}
		dialled := d.Dialled
		d.Dialled = func(ctx context.Context, c *pgserver.Conn) {
			c.Conn = answered{c.Conn, func() {
				if came.Add(1) == answers {
					end()
				}
			}}
			dialled(ctx, c)
		}
		c, err := newConnector(cfg, d, &pgserver.Following{})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := c.Connect(ctx)
		if err == nil { // there were fewer answers
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			return whole
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended with answer %d: %v", answers, err)
		}
		whole = whole || err == context.Canceled
	}
}
