package faultnet_test

import (
	"bytes"
	"io"
	"testing"
)

func contains(text string) func([]byte) bool {
	return func(request []byte) bool { return bytes.Contains(request, []byte(text)) }
}

func TestDropReplyOnceExecutesAndLosesTheReply(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	dropped := proxy.DropReplyOnce(contains("COMMIT"))

	c := dial(t, proxy.Addr())
	c.ask("BEGIN")
	<-server.executed
	c.send("COMMIT\n")
	c.expectEnd(io.EOF)
	<-dropped
	if got := <-server.executed; got != "COMMIT\n" {
		t.Fatalf("the server executed %q", got)
	}

	again := dial(t, proxy.Addr())
	again.ask("COMMIT") // once means once
}

func TestDropReplyOnceSeesARequestThatArrivesInPieces(t *testing.T) {
	t.Parallel()
	server, proxy := setUp(t)
	dropped := proxy.DropReplyOnce(func(request []byte) bool {
		return string(request) == "COMMIT\n"
	})
	c := dial(t, proxy.Addr())
	c.ask("BEGIN") // no part of the next request
	<-server.executed

	c.send("COM")
	c.send("MIT\n")
	c.expectEnd(io.EOF)
	<-dropped
	if got := <-server.executed; got != "COMMIT\n" {
		t.Fatalf("the server executed %q", got)
	}
}

func TestDropReplyOnceLeavesOtherConnectionsAlone(t *testing.T) {
	t.Parallel()
	_, proxy := setUp(t)
	proxy.DropReplyOnce(contains("COMMIT"))
	victim, other := dial(t, proxy.Addr()), dial(t, proxy.Addr())
	other.ask("before")
	victim.send("COMMIT\n")
	victim.expectEnd(io.EOF)
	other.ask("after")
}

func TestTwoDropsLoseTwoReplies(t *testing.T) {
	t.Parallel()
	_, proxy := setUp(t)
	first := proxy.DropReplyOnce(contains("COMMIT"))
	second := proxy.DropReplyOnce(contains("COMMIT"))
	for _, dropped := range []<-chan struct{}{first, second} {
		c := dial(t, proxy.Addr())
		c.send("COMMIT\n")
		c.expectEnd(io.EOF)
		<-dropped
	}
	dial(t, proxy.Addr()).ask("COMMIT")
}
