package faultnet

import (
	"context"
	"errors"
	"io"
	"net"
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
		if !l.proxy.hold(l.ctx) {
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
