package faultnet_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/faultnet"
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

func (c *client) expect(want string) {
	c.t.Helper()
	got, err := c.in.ReadString('\n')
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

func (c *client) expectEnd(want error) {
	c.t.Helper()
	got, err := c.in.ReadString('\n')
	if got != "" || !errors.Is(err, want) {
		c.t.Fatalf("read %q, %v; want %v", got, err, want)
	}
}

// setUp is a line server behind a proxy.
func setUp(t *testing.T) (*lineServer, *faultnet.Proxy) {
	t.Helper()
	s := startLineServer(t)
	return s, faultnet.Start(t, s.addr)
}
