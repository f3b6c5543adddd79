package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

var errSealed = errors.New("rest: call has ended")

// The states of a conn in a call.
const (
	untouched int32 = iota // nothing of the call was written
	written                // perhaps something was
	sealed                 // nothing was, and nothing will be
)

// conn knows whether anything of a call was written to it. HTTP/1.1 has one call
// on a connection at a time.
type conn struct {
	net.Conn
	state atomic.Int32
}

func (o Options) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := o.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: raw}, nil
}

// begin starts the next call on the connection.
func (c *conn) begin() { c.state.Store(untouched) }

// Write counts as written whatever becomes of it, since it may have been in part.
func (c *conn) Write(p []byte) (int, error) {
	if !c.state.CompareAndSwap(untouched, written) && c.state.Load() == sealed {
		return 0, errSealed
	}
	return c.Conn.Write(p)
}

// seal reports whether nothing of the call was written, and then sees to it that
// nothing will be.
func (c *conn) seal() bool { return c.state.CompareAndSwap(untouched, sealed) }

// under finds the conn below TLS, of which there are two layers behind an https
// proxy.
func under(raw net.Conn) *conn {
	for {
		encrypted, ok := raw.(*tls.Conn)
		if !ok {
			return raw.(*conn) // dial made it
		}
		raw = encrypted.NetConn()
	}
}
