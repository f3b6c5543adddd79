package faultnet_test

import (
	"syscall"
	"testing"
)

func TestBlackholeHoldsWhatIsSentUntilResume(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("before")
	<-server.executed

	holds := proxy.Blackhole()
	c.send("in the hole\n")
	<-holds
	dial(t, server.addr).ask("meanwhile")
	if got := <-server.executed; got != "meanwhile\n" || len(server.executed) != 0 {
		t.Fatalf("the server got %q through a black hole", got)
	}

	proxy.Resume()
	c.expect("re:in the hole\n")
}

func TestBlackholeAcceptsAndDialsLater(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	holds := proxy.Blackhole()
	c := dial(t, proxy.Addr())
	c.send("hello\n")
	<-holds
	dial(t, server.addr).ask("meanwhile")
	if n := len(server.accepted); n != 1 {
		t.Fatalf("the target was dialled through a black hole")
	}
	proxy.Resume()
	c.expect("re:hello\n")
}

func TestBlackholeHoldsAClose(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	c := dial(t, proxy.Addr())
	c.ask("before")
	holds := proxy.Blackhole()
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-holds
	dial(t, server.addr).ask("meanwhile")
	if len(server.ended) != 0 {
		t.Fatal("the server saw the close through a black hole")
	}
	proxy.Resume()
	if err := <-server.ended; err != nil {
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
		if err := <-server.ended; err == nil {
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
