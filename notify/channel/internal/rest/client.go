package rest

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"
)

// idleTimeout is how long an unused connection is kept: less than the load
// balancers of providers keep theirs, which end after a minute or more.
const idleTimeout = 30 * time.Second

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

// Close ends the idle connections. Calls at work finish.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// fail is a cause of an error, with the provider's name.
func (c *Client) fail(format string, args ...any) error {
	return fmt.Errorf(c.provider+": "+format, args...)
}

func newTransport(o Options) *http.Transport {
	t := &http.Transport{
		DialContext:            o.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Timeout,
		MaxIdleConns:           o.MaxConns,
		MaxIdleConnsPerHost:    o.MaxConns,
		MaxConnsPerHost:        o.MaxConns,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // a small answer that unpacks to a huge one
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if o.TLS != nil {
		t.TLSClientConfig = o.TLS.Clone()
	}
	if o.Proxy != nil {
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	return t
}
