// Package safedial makes connections to hosts that an untrusted party has named, who may
// mean this machine, its network, or the cloud's metadata service. It checks the address
// of every connection after the name was resolved, and allows only addresses of the
// public Internet. A name that resolves differently later does not help an attacker.
//
// A dialer guards connections, not requests: its users must not follow redirects or use a
// proxy, and must limit what they read.
package safedial

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrForbidden is in the chain of every error of a connection that was refused
// for its address or its port. Nothing was sent there.
var ErrForbidden = errors.New("safedial: the address is not on the public Internet")

// Dialer makes connections to public addresses only. The zero value is ready to
// use, by any number of goroutines.
type Dialer struct {
	// Trusted are hosts whose addresses are not checked: names or IP addresses
	// as they stand in the URL, without a port. Who may change what such a name
	// resolves to decides where connections go.
	Trusted []string
	// Ports may be called besides 80 and 443. Those of trusted hosts are not
	// checked.
	Ports []int
}

// DialContext is a net.Dialer's DialContext with a check of each address that it
// tries. A host of several addresses is reached by those that pass.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{ControlContext: d.check}
	if d.Trusts(host) {
		dialer.ControlContext = nil
	}
	return dialer.DialContext(ctx, network, address)
}

// Trusts reports whether host is one of the trusted ones; case does not count.
func (d Dialer) Trusts(host string) bool {
	return host != "" && slices.ContainsFunc(d.Trusted, func(t string) bool { return strings.EqualFold(t, host) })
}

// check is called with the address of the socket, before it connects.
func (d Dialer) check(_ context.Context, network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || !Public(at.Addr()) || !d.open(at.Port()) {
		return ErrForbidden
	}
	return nil
}

// open reports whether a port is one of the web's, or one that the host allows.
func (d Dialer) open(port uint16) bool {
	return port == 80 || port == 443 || slices.Contains(d.Ports, int(port))
}

// reserved are the networks of IPv4, and those in the global unicast part of
// IPv6, that are not the public Internet (IANA IPv4 and IPv6 Special-Purpose
// Address Registries; Azure's "What is IP address 168.63.129.16?").
var reserved = prefixes(
	"0.0.0.0/8",        // this network, unspecified
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers; metadata of some clouds
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's platform, reached from inside its machines only
	"169.254.0.0/16",   // link-local; metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // relays of 6to4
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
	"2001::/23",        // protocol assignments, Teredo
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4, which holds an address of IPv4
	"3fff::/20",        // documentation
)

// unicast is all of IPv6 that is assigned to the public Internet. Outside of it
// are loopback, mapped and translated addresses (64:ff9b::/96), unique local,
// link-local, site-local and multicast ones.
var unicast = netip.MustParsePrefix("2000::/3")

// Public reports whether an address is one of the public Internet. An address of
// IPv4 in the form of IPv6 counts as what it is. A translator with a prefix of
// its own (RFC 6052) cannot be told from other networks; do not offer one to a
// machine that calls strangers.
func Public(a netip.Addr) bool {
	if a = a.Unmap(); !a.IsValid() || a.Zone() != "" || a.Is6() && !unicast.Contains(a) {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, text := range all {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// maxURL is longer than the address of any receiver.
const maxURL = 2000

// Callable reports whether text is the URL of a receiver: https to an open port,
// or anything of http to a trusted host. A user in the URL is refused, since it makes one host look like
// another, and so is a fragment, which is never sent.
func (d Dialer) Callable(text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil, len(text) > maxURL, u.Hostname() == "", u.Opaque != "", u.User != nil, u.Fragment != "",
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return false
	}
	if d.Trusts(u.Hostname()) {
		return u.Scheme == "https" || u.Scheme == "http"
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16)
	return err == nil && u.Scheme == "https" && d.open(uint16(port))
}

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

// Cause names what kept a request from its receiver, without names and addresses:
// "forbidden-address", "dns", "certificate", or nothing that is known.
func Cause(err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrForbidden):
		return "forbidden-address"
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &cert):
		return "certificate"
	}
	return ""
}
