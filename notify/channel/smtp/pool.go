package smtp

import (
	"sync"
	"time"
)

// pool keeps the idle connections. There are never more of them than turns: a
// connection is made only while none is idle.
type pool struct {
	timeout time.Duration

	mu     sync.Mutex
	conns  []*conn // the one used last is at the end
	closed bool
}

// take returns the connection used last, or nil.
func (p *pool) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.conns)
	if n == 0 {
		return nil
	}
	c := p.conns[n-1]
	p.conns = p.conns[:n-1]
	c.expiry.Stop()
	return c
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.leave()
		return
	}
	c.expiry = time.AfterFunc(p.timeout, func() { p.expire(c) })
	p.conns = append(p.conns, c)
}

// expire ends c unless somebody has just taken it.
func (p *pool) expire(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, idle := range p.conns {
		if idle == c {
			p.conns = append(p.conns[:i], p.conns[i+1:]...)
			c.leave()
			return
		}
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		c.expiry.Stop()
		c.leave()
	}
	p.conns = nil
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}
