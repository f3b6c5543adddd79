package faultnet_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/faultnet"
)

// wall is real time: deadlines of real connections cannot be faked.
var wall = clock.New()

const (
	soon    = 10 * time.Second      // bounds what must happen
	instant = 50 * time.Millisecond // bounds the wait for what must not happen
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lineServer answers every line it gets with "re:" and the line, tells the test
// what it executed, and how each session ended.
type lineServer struct {
	addr     string
	accepted chan struct{}
	executed chan string
	ended    chan error // nil where the client closed in order
}

func startLineServer(t *testing.T) *lineServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lineServer{
		addr:     listener.Addr().String(),
		accepted: make(chan struct{}, 1000),
		executed: make(chan string, 1000),
		ended:    make(chan error, 1000),
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.accepted <- struct{}{}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *lineServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			s.ended <- err
			return
		}
		s.executed <- line
		if _, err := io.WriteString(conn, "re:"+line); err != nil {
			s.ended <- err
			return
		}
	}
}

// client is one connection of a test.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t: t, conn: conn, in: bufio.NewReader(conn)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatalf("send %q: %v", text, err)
	}
}

func (c *client) read(within time.Duration) (string, error) {
	c.t.Helper()
	if err := c.conn.SetReadDeadline(wall.Now().Add(within)); err != nil {
		c.t.Fatal(err)
	}
	return c.in.ReadString('\n')
}

func (c *client) expect(want string) {
	c.t.Helper()
	got, err := c.read(soon)
	if got != want || err != nil {
		c.t.Fatalf("reply = %q, %v; want %q", got, err, want)
	}
}

// ask sends one line and expects its answer.
func (c *client) ask(line string) {
	c.t.Helper()
	c.send(line + "\n")
	c.expect("re:" + line + "\n")
}

func (c *client) expectSilence() {
	c.t.Helper()
	got, err := c.read(instant)
	var timeout net.Error
	if got != "" || !errors.As(err, &timeout) || !timeout.Timeout() {
		c.t.Fatalf("read %q, %v; want silence", got, err)
	}
}

func (c *client) expectEnd(want error) {
	c.t.Helper()
	got, err := c.read(soon)
	if got != "" || !errors.Is(err, want) {
		c.t.Fatalf("read %q, %v; want %v", got, err, want)
	}
}

// receive waits for a signal of the server or the proxy.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	timer := wall.Timer(soon)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatal("the signal did not come")
		panic("unreachable")
	}
}

// setUp is a line server behind a proxy.
func setUp(t *testing.T) (*lineServer, *faultnet.Proxy) {
	t.Helper()
	s := startLineServer(t)
	return s, faultnet.Start(t, s.addr)
}
