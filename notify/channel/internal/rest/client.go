package rest

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
)

// Options are the settings of a Client. Provider is required.
type Options struct {
	// Provider begins every error: "twilio".
	Provider string
	// Authorize sets the headers that prove who calls. It is a function so that no
	// printed channel shows the credentials; nil sets none.
	Authorize func(http.Header)
	// Timeout bounds one call, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections to one host, and so the calls at work;
	// others wait for their turn within their Timeout. Zero means 10.
	MaxConns int
	// HTTP2 speaks it and not HTTP/1.1: calls share connections, and MaxConns bounds the
	// calls. Each needs a Body.
	HTTP2 bool
	// Proxy is an HTTP proxy; nil means none: that of the environment is not used.
	Proxy *url.URL
	// TLS is cloned; nil means the system's roots and TLS 1.2 or later.
	TLS *tls.Config
	// Dial makes the connections; nil means a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Check notes what is wrong with o.
func (o Options) Check(f *Faults) {
	f.Add(o.Timeout < 0, "Timeout is negative")
	f.Add(o.MaxConns < 0, "MaxConns is negative")
	p := o.Proxy // it may hold a password
	f.Add(p != nil && (p.Scheme != "http" && p.Scheme != "https" || p.Host == ""), "Proxy is not of the form http://host:port")
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.MaxConns = cmp.Or(o.MaxConns, 10)
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return o
}

// Faults collects what is wrong with a channel's settings, so that all of it is
// said at once. No method quotes a value that may hold a credential.
type Faults []string

// Add notes a fault if there is one.
func (f *Faults) Add(is bool, text string) {
	if is {
		*f = append(*f, text)
	}
}

// Err is an error that lists the faults, or nil if there are none.
func (f Faults) Err(provider string) error {
	if len(f) == 0 {
		return nil
	}
	return errors.New(provider + ": " + strings.Join(f, "; "))
}

// Secret refuses what cannot be a credential in a header: nothing, or anything
// but visible ASCII.
func (f *Faults) Secret(name, value string) {
	f.Add(value == "", name+" is required")
	f.Add(value != "" && !Credential(value), name+" holds a space, a line break or what is not ASCII")
}

// Credential reports whether text can stand in a header as a credential.
func Credential(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// BaseURL returns the address of an API without a slash at its end. It must be
// https, or http to this very machine, where tests have their servers: a
// request carries credentials.
func (f *Faults) BaseURL(name, text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		f.Add(true, name+" is not an address of the form https://host/path")
		return ""
	}
	f.Add(u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())), name+" is not https")
	return strings.TrimRight(u.String(), "/")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Client calls one provider's API. It is safe for several goroutines. Close it
// when nothing calls any more.
type Client struct {
	provider  string
	authorize func(http.Header)
	timeout   time.Duration
	transport *http.Transport
	shared    bool          // several calls are on one connection
	turns     chan struct{} // of as many calls as are at work at once
}

// NewClient returns a client by options that Check finds no fault with.
func NewClient(o Options) *Client {
	o = o.withDefaults()
	return &Client{provider: o.Provider, authorize: o.Authorize, timeout: o.Timeout, transport: newTransport(o),
		shared: o.HTTP2, turns: make(chan struct{}, o.MaxConns)}
}

// MaxCalls is how many calls are at work at once; others wait.
func (c *Client) MaxCalls() int { return cap(c.turns) }

// Close ends the idle connections. Calls at work finish.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// fail is a cause of an error, with the provider's name.
func (c *Client) fail(format string, args ...any) error {
	return fmt.Errorf(c.provider+": "+format, args...)
}

// A silent connection of HTTP/2 is asked whether it is alive, and closed if it is not:
// within the Timeout that is usual, so that not every later call runs into it.
const (
	silence  = 10 * time.Second
	patience = 5 * time.Second
)

func newTransport(o Options) *http.Transport {
	t := safedial.Transport(o.dial, o.TLS, o.Timeout, o.MaxConns)
	if o.HTTP2 {
		t.Protocols.SetHTTP1(false)
		t.Protocols.SetHTTP2(true)
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: patience}
		t.MaxConnsPerHost = 0 // calls are counted, and a connection has many
	}
	if o.Proxy != nil {
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	return t
}
