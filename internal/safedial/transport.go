package safedial

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// idleTimeout is how long an unused connection is kept: less than load balancers
// keep theirs, which end after a minute or more.
const idleTimeout = 30 * time.Second

// Transport speaks HTTP/1.1 over connections that dial makes, at most conns to one
// host, each made within timeout. It uses no proxy, whatever the environment says,
// and unpacks nothing. config is cloned; nil means the system's roots and TLS 1.2
// or later.
func Transport(dial func(ctx context.Context, network, addr string) (net.Conn, error), config *tls.Config, timeout time.Duration, conns int) *http.Transport {
	t := &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    timeout,
		MaxIdleConns:           conns,
		MaxIdleConnsPerHost:    conns,
		MaxConnsPerHost:        conns,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // a small answer that unpacks to a huge one
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if config != nil {
		t.TLSClientConfig = config.Clone()
	}
	return t
}
