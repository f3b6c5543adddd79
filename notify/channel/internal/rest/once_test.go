package rest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
)

// peer answers every request on a connection but those that its script drops,
// and counts them all.
type peer struct {
	url  string
	drop func(conn, request int) bool // hang up on the request of that number

	mu       sync.Mutex
	requests int
}

func newPeer(t *testing.T, drop func(conn, request int) bool) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{url: "http://" + listener.Addr().String(), drop: drop}
	var all sync.WaitGroup
	all.Go(func() {
		for n := 1; ; n++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.talk(c, n) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return p
}

func (p *peer) talk(c net.Conn, number int) {
	defer c.Close()
	in := bufio.NewReader(c)
	for n := 1; ; n++ {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = in.Discard(int(request.ContentLength))
		p.mu.Lock()
		p.requests++
		p.mu.Unlock()
		if p.drop(number, n) {
			return
		}
		if _, err := c.Write([]byte("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")); err != nil {
			return
		}
	}
}

func (p *peer) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func TestOneRequestAlsoWhenAKeptConnectionDies(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(conn, request int) bool { return conn == 1 && request == 2 })
	c := client(t, Options{})
	call := post(p.url)
	// What makes net/http take a POST for one that it may repeat.
	call.Header = http.Header{"Idempotency-Key": {"a"}, "X-Idempotency-Key": {"a"}}
	if _, err := c.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if err := refused(t.Context(), t, c, call); err.Class != channel.ClassUnknown {
		t.Error(err)
	}
	if n := p.seen(); n != 2 {
		t.Errorf("%d requests for 2 calls", n)
	}
	if _, err := c.Do(t.Context(), call); err != nil {
		t.Error("the client does not recover:", err)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	requests := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests++
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	answer, err := client(t, Options{}).Do(t.Context(), post(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Refusal(""); got.Class != channel.ClassTransient || got.Code != "307" {
		t.Error(got)
	}
	mu.Lock()
	defer mu.Unlock()
	if requests != 1 {
		t.Errorf("%d requests", requests)
	}
}

// brokenConn lets nothing be written.
type brokenConn struct{ net.Conn }

func (brokenConn) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestFailedWriteIsInDoubtSinceItMayHaveBeenInPart(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(int, int) bool { return false })
	c := client(t, Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := new(net.Dialer).DialContext(ctx, network, addr)
		return brokenConn{raw}, err
	}})
	if err := refused(t.Context(), t, c, post(p.url)); err.Class != channel.ClassUnknown {
		t.Error(err)
	}
}

func TestSealedConnectionCarriesNothing(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	c := &conn{Conn: near}
	if !c.seal() {
		t.Fatal("an untouched connection was taken for one that was written to")
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, errSealed) {
		t.Error(err)
	}
	c.begin()
	go func() { _, _ = far.Read(make([]byte, 1)) }()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if c.seal() {
		t.Error("a connection that was written to was sealed")
	}
}
