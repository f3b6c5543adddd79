package smtp

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// wantConnections compares how many connections were made in all.
func wantConnections(t *testing.T, s *server, want int) {
	t.Helper()
	if got, _ := s.connections(); got != want {
		t.Errorf("%d connections, want %d", got, want)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := open(t, s.addr, nil)
	for range 3 {
		send(t, c, message())
	}
	wantConnections(t, s, 1)
	if n := len(s.accepted()); n != 3 {
		t.Errorf("%d mails", n)
	}
}

func TestConnectionIsUsedAgainAfterARefusal(t *testing.T) {
	t.Parallel()
	refusals := make(chan string, 3)
	s := serve(t, &server{script: func(_ int, step string) string {
		select {
		case refused := <-refusals:
			if step == refused {
				return "550 5.1.1 no"
			}
			refusals <- refused
		default:
		}
		return ""
	}})
	c := open(t, s.addr, nil)
	for _, step := range []string{"RCPT", "DATA", "."} {
		refusals <- step
		if err := refuse(t.Context(), t, c, message()); err.Class != channel.ClassPermanent {
			t.Error(err)
		}
		send(t, c, message())
	}
	wantConnections(t, s, 1)
	if n := s.seen("RSET"); n != 3 {
		t.Errorf("%d times RSET", n)
	}
}

func TestConnectionThatDiedIdleIsReplaced(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"lost": drop, "reset": reset, "timed out": "421 4.4.2 idle too long"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mails int
			s := serve(t, &server{script: func(conn int, step string) string {
				if conn == 1 && step == "MAIL" {
					if mails++; mails == 2 {
						return answer
					}
				}
				return ""
			}})
			c := open(t, s.addr, nil)
			send(t, c, message())
			send(t, c, message())
			wantConnections(t, s, 2)
			if n := len(s.accepted()); n != 2 {
				t.Errorf("%d mails", n)
			}
		})
	}
}

func TestNewConnectionIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{script: at("MAIL", "421 4.3.2 later")})
	if err := refuse(t.Context(), t, open(t, s.addr, nil), message()); err.Class != channel.ClassTransient {
		t.Error(err)
	}
	wantConnections(t, s, 1)
}

func TestConnectionWithAnUnaskedAnswerIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{script: at(".", "250 fine\r\n250 and fine again")})
	c := open(t, s.addr, nil)
	send(t, c, message())
	send(t, c, message())
	wantConnections(t, s, 2)
}

func TestIdleConnectionIsEnded(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := open(t, s.addr, &Options{TLS: NoTLS, IdleTimeout: time.Millisecond})
	send(t, c, message())
	s.waitGone()
	if s.seen("QUIT") != 1 {
		t.Error("no goodbye")
	}
	send(t, c, message())
	wantConnections(t, s, 2)
}

func TestMaxConnsBoundsTheConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := open(t, s.addr, &Options{TLS: NoTLS, MaxConns: 2})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			m := message()
			m.ID = fmt.Sprintf("%032d", i)
			if _, err := c.Send(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if total, most := s.connections(); total > 2 || most > 2 {
		t.Errorf("%d connections, %d at once", total, most)
	}
	if n := len(s.accepted()); n != 20 {
		t.Errorf("%d mails", n)
	}
	if n := c.MaxCalls(); n != 2 {
		t.Errorf("it says that it makes %d calls at once", n)
	}
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{script: at("RCPT", hang)})
	c := open(t, s.addr, &Options{TLS: NoTLS, MaxConns: 1})
	working, stop := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() { _, _ = c.Send(working, message()) })
	<-s.silent
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if err := refuse(waiting, t, c, message()); err.Class != channel.ClassTransient || err.Code != "busy" {
		t.Error(err)
	}
	stop()
	first.Wait()
}

func TestCloseEndsIdleConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := open(t, s.addr, nil)
	send(t, c, message())
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.waitGone()
	if s.seen("QUIT") != 1 {
		t.Error("no goodbye")
	}
	if err := refuse(t.Context(), t, c, message()); err.Class != channel.ClassTransient || err.Code != "closed" {
		t.Error(err)
	}
	wantConnections(t, s, 1)
}

func TestCloseLetsASendFinish(t *testing.T) {
	t.Parallel()
	working, closed := make(chan struct{}), make(chan struct{})
	s := serve(t, &server{script: func(_ int, step string) string {
		if step == "RCPT" {
			close(working)
			<-closed
		}
		return ""
	}})
	c := open(t, s.addr, nil)
	var sending sync.WaitGroup
	sending.Go(func() { send(t, c, message()) })
	<-working
	_ = c.Close()
	close(closed)
	sending.Wait()
	s.waitGone() // the connection was not kept
}

func TestConnectionThatCannotBeOpenedIsClosed(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*server{
		"greeting":    {script: at("CONNECT", "554 no")},
		"no STARTTLS": {offers: []string{"8BITMIME"}},
		"no login":    {offers: []string{"AUTH GSSAPI"}, secure: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serve(t, s)
			policy := NoTLS
			if name == "no STARTTLS" {
				policy = StartTLS
			}
			c := open(t, s.addr, &Options{TLS: policy, Username: "school", Password: "canary"})
			if err := refuse(t.Context(), t, c, message()); err.Class != channel.ClassTransient {
				t.Error(err)
			}
			s.waitGone()
		})
	}
}
