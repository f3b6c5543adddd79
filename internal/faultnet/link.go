package faultnet

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
)

// ending is how a connection ends as its peers see it.
type ending int

const (
	fin ending = iota // orderly: the peer reads EOF
	rst               // reset: the peer reads ECONNRESET
)

// link is one client connection and, once dialled, the one to the target.
type link struct {
	proxy    *Proxy
	ctx      context.Context // ends with the link
	cancel   context.CancelFunc
	exchange exchange

	client *net.TCPConn

	mu     sync.Mutex
	server *net.TCPConn // nil until dialled
	ended  bool
}

func newLink(p *Proxy, client *net.TCPConn) *link {
	l := &link{proxy: p, client: client}
	l.ctx, l.cancel = context.WithCancel(p.ctx)
	return l
}

func (l *link) run() {
	if !l.proxy.gate.wait(l.ctx) {
		l.end(fin) // Close may find the link gone
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(l.ctx, "tcp", l.proxy.target)
	if err != nil {
		l.end(rst)
		return
	}
	if !l.attach(server.(*net.TCPConn)) {
		_ = server.Close()
		return
	}
	var up sync.WaitGroup
	up.Go(func() { l.pump(l.server, l.client, l.request) })
	l.pump(l.client, l.server, l.reply)
	up.Wait()
	l.end(fin)
}

func (l *link) attach(server *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.server = server
	return true
}

// pump forwards from src to dst until one of them ends, and passes on the way
// src ended. It shows every piece to observe first, which may end the link.
func (l *link) pump(dst, src *net.TCPConn, observe func([]byte)) {
	buf := make([]byte, 64<<10)
	for {
		n, readErr := src.Read(buf)
		if !l.proxy.gate.wait(l.ctx) {
			return
		}
		if n > 0 {
			observe(buf[:n])
			if _, err := dst.Write(buf[:n]); err != nil {
				l.end(rst)
				return
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			_ = dst.CloseWrite() // fails only where dst is gone, which its own pump sees
			return
		case readErr != nil:
			l.end(rst)
			return
		}
	}
}

// end closes both sides, the first time it is called.
func (l *link) end(how ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.cancel()
	hangUp(l.client, how)
	hangUp(l.server, how)
}

// hangUp closes conn. Errors are of no interest: the peer may have gone first.
func hangUp(conn *net.TCPConn, how ending) {
	if conn == nil {
		return
	}
	if how == rst {
		_ = conn.SetLinger(0)
	} else {
		_ = conn.CloseWrite() // a bare Close sends RST where input is unread
	}
	_ = conn.Close()
}

// DropReplyOnce loses one reply, the worst moment for a client: the next
// request for which match returns true reaches the target, the target executes
// it and replies, and the client sees an orderly close (FIN) instead of the
// reply. The returned channel is closed when that has happened and the target
// has ended the session; a test should wait for it, since a fault that did not
// occur proves nothing.
//
// match sees the bytes that one connection has sent since its last reply, and
// again whenever more of the request arrives. It must not keep or change them,
// nor call the Proxy; calls never overlap. A protocol in which one statement is
// several round trips (lib/pq's Parse, then Execute) shows it several requests.
// Clients that send the next request before they have the last reply are not
// told apart.
func (p *Proxy) DropReplyOnce(match func(request []byte) bool) <-chan struct{} {
	return p.drops.arm(match)
}

// drop is one armed DropReplyOnce.
type drop struct {
	match func([]byte) bool
	done  chan struct{}
}

// drops are the armed ones of a proxy.
type drops struct {
	mu    sync.Mutex
	armed []*drop
}

func (d *drops) arm(match func([]byte) bool) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	armed := &drop{match: match, done: make(chan struct{})}
	d.armed = append(d.armed, armed)
	return armed.done
}

func (d *drops) any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.armed) > 0
}

// take disarms and returns the first drop that matches request, or nil.
func (d *drops) take(request []byte) *drop {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.armed, func(a *drop) bool { return a.match(request) })
	if i < 0 {
		return nil
	}
	taken := d.armed[i]
	d.armed = slices.Delete(d.armed, i, i+1)
	return taken
}

// exchange is the request under way on one link, and the drop it has met.
type exchange struct {
	mu      sync.Mutex
	request []byte // collected only while a drop is armed
	drop    *drop
}

// request sees what the client sent before the server does.
func (l *link) request(chunk []byte) {
	e := &l.exchange
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.drop == nil && l.proxy.drops.any() {
		e.request = append(e.request, chunk...)
		e.drop = l.proxy.drops.take(e.request)
	}
}

// reply sees that the server replied before the client does.
func (l *link) reply([]byte) {
	e := &l.exchange
	e.mu.Lock()
	dropped := e.drop
	e.request = nil
	e.mu.Unlock()
	if dropped != nil {
		l.swallow(dropped)
	}
}

// swallow ends the link without the reply. The half-close makes the server end
// the session after it, which proves that all of the request was executed.
func (l *link) swallow(d *drop) {
	_ = l.server.CloseWrite()
	_, _ = io.Copy(io.Discard, l.server)
	l.end(fin)
	close(d.done)
}
