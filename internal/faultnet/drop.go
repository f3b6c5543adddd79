package faultnet

import (
	"io"
	"slices"
	"sync"
)

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
