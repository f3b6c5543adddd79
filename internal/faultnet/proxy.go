// Package faultnet is a TCP proxy that misbehaves on command, for tests that
// ask what happens when the network does. It knows no protocol: it forwards
// bytes, holds them back, loses replies or cuts connections in the way a real
// network does it.
//
// Only tests import it.
package faultnet

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
)

// Proxy forwards every connection made to Addr to one target. Its methods may
// be called from any goroutine, at any time, in any order.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	running  sync.WaitGroup

	gate  gate
	drops drops

	mu    sync.Mutex
	links map[*link]struct{} // nil once closed
}

// Listen starts a proxy on a free port of 127.0.0.1 for target, a host:port.
// The target need not be up: it is dialled once per connection, and a client
// whose target refuses is reset. The caller calls Close.
func Listen(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("faultnet: listen for %s: %w", target, err)
	}
	p := &Proxy{target: target, listener: listener, links: map[*link]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Start is Listen for a test: it fails t on an error and closes the proxy when
// t ends.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Addr is the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close stops listening, closes every connection in order (FIN), and returns
// when the proxy's last goroutine has ended. Closing twice is allowed.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.listener.Close() // only ever "already closed"
	p.end(fin, true)
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		l := newLink(p, client.(*net.TCPConn))
		if !p.add(l) {
			l.end(fin)
			return
		}
		p.running.Go(func() {
			defer p.remove(l)
			l.run()
		})
	}
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.links == nil {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// end ends every present connection; last refuses later ones.
func (p *Proxy) end(how ending, last bool) {
	p.mu.Lock()
	present := make([]*link, 0, len(p.links))
	for l := range p.links {
		present = append(present, l)
	}
	if last {
		p.links = nil
	}
	p.mu.Unlock()
	for _, l := range present {
		l.end(how)
	}
}

// Blackhole makes the network go silent: connections stay up and new ones are
// accepted, but nothing is forwarded either way, closing included, and the
// target is not dialled. What a peer sends after Blackhole has returned is held
// until Resume; bytes already on their way may still arrive. The channel is
// closed once the black hole holds something: bytes, a new connection or the end
// of one. A black hole that is there already goes on, with its channel.
func (p *Proxy) Blackhole() (holds <-chan struct{}) { return p.gate.shut() }

// Resume ends a black hole and delivers what it held. Without one it does
// nothing.
func (p *Proxy) Resume() { p.gate.open() }

// CutAll resets (RST) every present connection on both sides, as a firewall or
// a crashed machine does. It has happened when CutAll returns. Later
// connections are not affected, and a black hole stays in force.
func (p *Proxy) CutAll() { p.end(rst, false) }

// gate lets goroutines through while it is open. The zero value is open.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed by open; nil while the gate is open
	holds  chan struct{} // closed by the first that waits
	held   bool          // holds is closed
}

func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened, g.holds, g.held = make(chan struct{}), make(chan struct{}), false
	}
	return g.holds
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// wait returns true once the gate is open, or false when ctx ended first.
func (g *gate) wait(ctx context.Context) bool {
	for {
		opened := g.closed()
		if opened == nil {
			return ctx.Err() == nil
		}
		select {
		case <-opened: // it may have been shut again
		case <-ctx.Done():
			return false
		}
	}
}

// closed is what open will close; waiters select on it. Nil: the gate is open.
func (g *gate) closed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		return nil
	}
	if !g.held {
		g.held = true
		close(g.holds)
	}
	return g.opened
}
