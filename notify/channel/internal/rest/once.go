package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
)

var errSealed = errors.New("rest: call has ended")

// The states of a mark.
const (
	untouched int32 = iota // nothing of the call was written
	written                // perhaps something was
	sealed                 // nothing was, and nothing will be
)

// mark knows whether anything of a call was written. The zero value is untouched.
type mark struct{ state atomic.Int32 }

// begin starts the next call.
func (m *mark) begin() { m.state.Store(untouched) }

// touch comes before anything is written, and says whether it may be.
func (m *mark) touch() bool {
	return m.state.CompareAndSwap(untouched, written) || m.state.Load() != sealed
}

// seal reports whether nothing of the call was written, and then sees to it that
// nothing will be.
func (m *mark) seal() bool { return m.state.CompareAndSwap(untouched, sealed) }

// conn is marked by whatever is written to it. HTTP/1.1 has one call on a connection at
// a time.
type conn struct {
	net.Conn
	mark
}

func (o Options) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := o.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: raw}, nil
}

// Write counts as written whatever becomes of it, since it may have been in part.
func (c *conn) Write(p []byte) (int, error) {
	if !c.touch() {
		return 0, errSealed
	}
	return c.Conn.Write(p)
}

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

// body is that of one request, which is marked when it is read. On a connection of
// HTTP/2, where other calls and the protocol itself write at any time, only this tells
// whether a call was: without its body a request is none, since its end is missing.
type body struct {
	io.ReadCloser
	mark
}

func (b *body) Read(p []byte) (int, error) {
	if !b.touch() {
		return 0, errSealed
	}
	return b.ReadCloser.Read(p)
}
