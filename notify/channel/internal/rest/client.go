package rest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
)

// Client calls one provider's API. It is safe for several goroutines. Close it
// when nothing calls any more.
type Client struct {
	provider  string
	authorize func(http.Header)
	timeout   time.Duration
	transport *http.Transport
}

// NewClient returns a client by options that Check finds no fault with.
func NewClient(o Options) *Client {
	o = o.withDefaults()
	return &Client{provider: o.Provider, authorize: o.Authorize, timeout: o.Timeout, transport: newTransport(o)}
}

// MaxCalls is how many calls are at work at once; others wait.
func (c *Client) MaxCalls() int { return c.transport.MaxConnsPerHost }

// Close ends the idle connections. Calls at work finish.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// fail is a cause of an error, with the provider's name.
func (c *Client) fail(format string, args ...any) error {
	return fmt.Errorf(c.provider+": "+format, args...)
}

func newTransport(o Options) *http.Transport {
	t := safedial.Transport(o.dial, o.TLS, o.Timeout, o.MaxConns)
	if o.Proxy != nil {
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	return t
}
