package faultnet_test

import (
	"io"
	"syscall"
	"testing"
	"time"
)

func TestBlackholeHoldsWhatIsSentUntilResume(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("before")
	receive(t, server.executed)

	proxy.Blackhole()
	c.send("in the hole\n")
	c.expectSilence()
	if n := len(server.executed); n != 0 {
		t.Fatalf("the server got %d requests through a black hole", n)
	}

	proxy.Resume()
	c.expect("re:in the hole\n")
}

func TestBlackholeAcceptsAndDialsLater(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	proxy.Blackhole()
	c := dial(t, proxy.Addr())
	c.send("hello\n")
	c.expectSilence()
	if n := len(server.accepted); n != 0 {
		t.Fatalf("the target was dialled through a black hole")
	}
	proxy.Resume()
	receive(t, server.accepted)
	c.expect("re:hello\n")
}

func TestBlackholeHoldsAClose(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("before")
	proxy.Blackhole()
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	timer := wall.Timer(instant)
	defer timer.Stop()
	select {
	case err := <-server.ended:
		t.Fatalf("the server saw the close through a black hole: %v", err)
	case <-timer.C:
	}
	proxy.Resume()
	if err := receive(t, server.ended); err != nil {
		t.Fatalf("the server saw %v, want an orderly end", err)
	}
}

func TestCutAllResetsBothSides(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	a, b := dial(t, proxy.Addr()), dial(t, proxy.Addr())
	a.ask("a")
	b.ask("b")
	proxy.CutAll()
	a.expectEnd(syscall.ECONNRESET)
	b.expectEnd(syscall.ECONNRESET)
	for range 2 {
		if err := receive(t, server.ended); err == nil {
			t.Fatal("the server saw an orderly end, want a reset")
		}
	}
	dial(t, proxy.Addr()).ask("a new connection")
}

func TestCutAllReachesIntoABlackhole(t *testing.T) {
	t.Parallel()
	_, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("before")
	proxy.Blackhole()
	proxy.CutAll()
	c.expectEnd(syscall.ECONNRESET)
}

func TestCloseAllIsOrderly(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("before")
	proxy.CloseAll()
	c.expectEnd(io.EOF)
	if err := receive(t, server.ended); err != nil {
		t.Fatalf("the server saw %v, want an orderly end", err)
	}
	dial(t, proxy.Addr()).ask("a new connection")
}

func TestCloseAllIsOrderlyWhereInputIsUnread(t *testing.T) {
	t.Parallel()
	_, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("before")
	proxy.Blackhole()
	c.send("held\n")
	c.expectSilence()
	c.send("not even read\n")
	proxy.CloseAll()
	c.expectEnd(io.EOF)
}

func TestLatencyDelaysRequestAndReply(t *testing.T) {
	t.Parallel()
	const d = 20 * time.Millisecond
	_, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("fast")

	proxy.Latency(d)
	start := wall.Now()
	c.ask("slow")
	if took := wall.Since(start); took < 2*d {
		t.Fatalf("a round trip took %v, want at least %v", took, 2*d)
	}

	proxy.Latency(time.Hour)
	c.send("never\n")
	proxy.Latency(0) // what waits already goes on waiting; Close must not
}
