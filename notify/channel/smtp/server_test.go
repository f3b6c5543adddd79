package smtp

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"io"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
)

// What a script may answer besides a reply.
const (
	drop  = "!drop"  // close the connection
	reset = "!reset" // close it with a reset
	hang  = "!hang"  // fall silent for ever
)

// script answers a step on the connection of that number; empty is the usual
// answer. Steps are the commands and "CONNECT", "CONTENT" (the data before its
// final dot) and ".".
type script func(conn int, step string) string

// at is the script that gives one answer at one step.
func at(step, answer string) script {
	return func(_ int, s string) string {
		if s == step {
			return answer
		}
		return ""
	}
}

// server speaks SMTP, but for what its script says.
type server struct {
	roomy    bool // takes large mails at once
	addr     string
	script   script
	offers   []string
	secure   *tls.Config // for STARTTLS, or from the first byte on
	implicit bool

	listener net.Listener
	stop     chan struct{}
	all      sync.WaitGroup
	silent   chan string // a step at which the script fell silent
	gone     chan int    // a connection that the client has closed

	mu       sync.Mutex
	commands []string
	mails    []string
	conns    int
	open     map[net.Conn]bool
	mostOpen int
}

// serve starts a server that lasts as long as the test.
func serve(t *testing.T, s *server) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.addr, s.stop = listener, listener.Addr().String(), make(chan struct{})
	s.silent, s.gone, s.open = make(chan string, 100), make(chan int, 100), map[net.Conn]bool{}
	if s.script == nil {
		s.script = func(int, string) string { return "" }
	}
	s.all.Go(s.accept)
	t.Cleanup(func() {
		close(s.stop)
		_ = listener.Close()
		s.mu.Lock()
		for c := range s.open {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.all.Wait()
	})
	return s
}

func (s *server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.roomy {
			_ = c.(*net.TCPConn).SetReadBuffer(4096) // see tooMuch
		}
		s.mu.Lock()
		s.conns++
		s.open[c] = true
		s.mostOpen = max(s.mostOpen, len(s.open))
		session := &session{server: s, raw: c, conn: c, number: s.conns}
		s.mu.Unlock()
		s.all.Go(session.run)
	}
}

// seen counts the commands that begin with the verb.
func (s *server) seen(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.commands {
		if strings.HasPrefix(c, verb) {
			n++
		}
	}
	return n
}

func (s *server) connections() (total, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns, s.mostOpen
}

func (s *server) accepted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.mails...)
}

// waitGone waits until the client has closed a connection.
func (s *server) waitGone() { <-s.gone }

// session is one connection.
type session struct {
	*server
	raw    net.Conn
	conn   net.Conn // raw, or encrypted
	text   *textproto.Conn
	number int
}

func (c *session) run() {
	defer func() {
		_ = c.raw.Close()
		c.mu.Lock()
		delete(c.open, c.raw)
		c.mu.Unlock()
		c.gone <- c.number
	}()
	if c.implicit {
		c.conn = tls.Server(c.raw, c.secure)
	}
	c.text = textproto.NewConn(c.conn)
	if !c.reply("CONNECT", "220 test ready") {
		return
	}
	for {
		line, err := c.text.ReadLine()
		if err != nil || !c.command(line) {
			return
		}
	}
}

// reply answers a step and tells whether to go on.
func (c *session) reply(step, usual string) bool {
	return c.say(step, cmp.Or(c.script(c.number, step), usual))
}

func (c *session) say(step, answer string) bool {
	switch answer {
	case drop:
		return false
	case reset:
		_ = c.raw.(*net.TCPConn).SetLinger(0)
		return false
	case hang:
		c.silent <- step
		<-c.stop
		return false
	}
	return answer == "" || c.text.PrintfLine("%s", answer) == nil
}

func (c *session) command(line string) bool {
	c.mu.Lock()
	c.commands = append(c.commands, line)
	c.mu.Unlock()
	verb, _, _ := strings.Cut(line, " ")
	switch verb {
	case "EHLO":
		return c.reply(verb, c.greeting())
	case "STARTTLS":
		return c.reply(verb, "220 go on") && c.encrypt()
	case "AUTH":
		return c.reply(verb, "235 2.7.0 welcome")
	case "DATA":
		answer := cmp.Or(c.script(c.number, verb), "354 go on")
		return c.say(verb, answer) && (answer[:3] != "354" || c.content())
	case "QUIT":
		_ = c.reply(verb, "221 bye")
		return false
	}
	return c.reply(verb, "250 fine")
}

func (c *session) greeting() string {
	offers := append([]string{"test"}, c.offers...)
	if _, done := c.conn.(*tls.Conn); c.secure != nil && !done {
		offers = append(offers, "STARTTLS")
	}
	last := len(offers) - 1
	var b strings.Builder
	for _, o := range offers[:last] {
		b.WriteString("250-" + o + "\r\n")
	}
	return b.String() + "250 " + offers[last]
}

func (c *session) encrypt() bool {
	c.conn = tls.Server(c.raw, c.secure)
	c.text = textproto.NewConn(c.conn)
	return true
}

func (c *session) content() bool {
	first, err := c.text.R.ReadString('\n') // now the client is writing
	if err != nil || !c.reply("CONTENT", "") {
		return false
	}
	data, err := rawData(c.text.R)
	if err != nil {
		return false
	}
	data = first + data
	answer := cmp.Or(c.script(c.number, "."), "250 2.0.0 queued for sam@example.com")
	if strings.HasPrefix(answer, "2") {
		c.mu.Lock()
		c.mails = append(c.mails, data)
		c.mu.Unlock()
	}
	return c.say(".", answer)
}

// rawData reads up to the final dot and undoes the doubling of dots.
func rawData(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", io.ErrUnexpectedEOF
		}
		if line == ".\r\n" {
			return b.String(), nil
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
}
