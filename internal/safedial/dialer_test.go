package safedial_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/safedial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listener counts who comes.
func listener(t *testing.T) (port string, came chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	came = make(chan struct{}, 100)
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- struct{}{}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, came
}

func TestAddressIsCheckedAfterItsNameWasResolved(t *testing.T) {
	t.Parallel()
	port, came := listener(t)
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "::ffff:127.0.0.1", "::1", "0.0.0.0", "::", "64:ff9b::7f00:1"} {
		c, err := safedial.Dialer{Trusted: []string{"elsewhere"}, Ports: []int{n}}.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		var network net.Error
		if !errors.Is(err, safedial.ErrForbidden) || !errors.As(err, &network) {
			t.Errorf("%s: %v", host, err)
		}
		if c != nil {
			_ = c.Close()
		}
	}
	if len(came) != 0 {
		t.Errorf("%d connections were made", len(came))
	}
}

func TestTrustedHostIsReached(t *testing.T) {
	t.Parallel()
	port, came := listener(t)
	d := safedial.Dialer{Trusted: []string{"127.0.0.1", "LocalHost"}}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		c, err := d.DialContext(t.Context(), "tcp4", net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		<-came
		_ = c.Close()
	}
}

func TestNothingElseIsTrusted(t *testing.T) {
	t.Parallel()
	d := safedial.Dialer{Trusted: []string{"hooks.internal", ""}}
	for _, host := range []string{"", "internal", "a.hooks.internal", "hooks.internal.", "hooks.internal.example"} {
		if d.Trusts(host) {
			t.Errorf("%q is trusted", host)
		}
	}
	for _, address := range []string{"127.0.0.1", "", ":80"} {
		if _, err := d.DialContext(t.Context(), "tcp", address); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.DialContext(ctx, "tcp", "127.0.0.1:1"); err == nil {
		t.Error("a context that has ended")
	}
}

func TestOnlyTCPIsDialled(t *testing.T) {
	t.Parallel()
	if _, err := (safedial.Dialer{}).DialContext(t.Context(), "udp", "8.8.8.8:53"); !errors.Is(err, safedial.ErrForbidden) {
		t.Error(err)
	}
}
