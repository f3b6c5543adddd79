package faultnet_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"

	"github.com/belfry-go/belfry/internal/faultnet"
)

func TestForwardsBothWaysUntilTheClientCloses(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("one")
	c.ask("two")
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := <-server.ended; err != nil {
		t.Fatalf("the server saw %v, want an orderly end", err)
	}
	c.expectEnd(io.EOF)
}

func TestForwardsMoreThanABuffer(t *testing.T) {
	t.Parallel()
	_, proxy := setUp(t)
	long := string(bytes.Repeat([]byte("x"), 1<<20))
	dial(t, proxy.Addr()).ask(long)
}

func TestClientOfADeadTargetIsReset(t *testing.T) {
	t.Parallel()
	proxy := faultnet.Start(t, "127.0.0.1:1") // nothing listens on port 1
	conn, err := net.Dial("tcp", proxy.Addr())
	if err == nil { // the reset may come this early
		t.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the client saw %v, want a reset", err)
	}
}

func TestCloseEndsConnectionsWhateverTheyWaitFor(t *testing.T) {
	t.Parallel()
	server := startLineServer(t)
	proxy, err := faultnet.Listen(server.addr)
	if err != nil {
		t.Fatal(err)
	}
	idle := dial(t, proxy.Addr())
	idle.ask("idle")
	held := dial(t, proxy.Addr())
	held.ask("held")
	holds := proxy.Blackhole()
	undialled := dial(t, proxy.Addr())
	<-holds // it is accepted
	held.send("in the hole\n")

	proxy.Close()
	proxy.Close()
	idle.expectEnd(io.EOF)
	held.expectEnd(io.EOF)
	if got, err := undialled.in.ReadString('\n'); err == nil {
		t.Fatalf("read %q after Close", got)
	} // that nobody listens any more goleak sees: the goroutine that accepts has ended
}

func TestEveryControlMayBeUsedAtOnce(t *testing.T) {
	t.Parallel()
	_, proxy := setUp(t)
	var all sync.WaitGroup
	for _, control := range []func(){
		proxy.Resume, proxy.CutAll,
		func() { proxy.Blackhole() },
		func() { proxy.DropReplyOnce(func([]byte) bool { return false }) },
		func() {
			conn, err := net.Dial("tcp", proxy.Addr())
			if err != nil {
				return // cut while it connected
			}
			_, _ = io.WriteString(conn, "hello\n") // it may have been cut by now
			_ = conn.Close()
		},
	} {
		all.Go(func() {
			for range 20 {
				control()
			}
		})
	}
	all.Wait()
	proxy.Resume()
	proxy.CutAll()
	dial(t, proxy.Addr()).ask("still alive")
}
