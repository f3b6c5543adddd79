package safedial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// ErrForbidden is in the chain of every error of a connection that was refused
// for its address. Nothing was sent there.
var ErrForbidden = errors.New("safedial: not an address of the public Internet")

// Dialer makes connections to public addresses only. The zero value is ready to
// use, by any number of goroutines.
type Dialer struct {
	// Trusted are hosts whose addresses are not checked: names or IP addresses
	// as they stand in the URL, without a port. Who may change what such a name
	// resolves to decides where connections go.
	Trusted []string
}

// DialContext is a net.Dialer's DialContext with a check of each address that it
// tries. A host of several addresses is reached by those that pass.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{ControlContext: check}
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
func check(_ context.Context, network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || !Public(at.Addr()) {
		return ErrForbidden
	}
	return nil
}
