package faultnet

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
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

	gate    gate
	latency atomic.Int64 // a time.Duration
	drops   drops

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

// Close stops listening, closes every connection as CloseAll does, and returns
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
