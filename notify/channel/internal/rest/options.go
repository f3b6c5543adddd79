package rest

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"
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
	// Proxy is an HTTP proxy; nil means none, whatever the environment says.
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
