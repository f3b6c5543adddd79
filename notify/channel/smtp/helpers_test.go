package smtp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

const id = "0123456789abcdef0123456789abcdef"

func message() channel.Message {
	return channel.Message{ID: id, To: "sam@example.com", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.",
		On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
}

// open makes a channel to the server that lasts as long as the test. It does
// not encrypt unless opts say so.
func open(t *testing.T, addr string, opts *Options) *Channel {
	t.Helper()
	o := Options{TLS: NoTLS}
	if opts != nil {
		o = *opts
	}
	if o.From == "" {
		o.From = "School <office@school.example>"
	}
	c, err := New(addr, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// send expects m to be accepted.
func send(t *testing.T, c *Channel, m channel.Message) {
	t.Helper()
	receipt, err := c.Send(t.Context(), m)
	if err != nil || receipt.ID != m.ID+"@school.example" {
		t.Fatalf("Send: %+v, %v", receipt, err)
	}
}

// refuse expects m to be refused, and returns how.
func refuse(ctx context.Context, t *testing.T, c *Channel, m channel.Message) *channel.Error {
	t.Helper()
	receipt, err := c.Send(ctx, m)
	typed, ok := err.(*channel.Error)
	if !ok || receipt != (channel.Receipt{}) {
		t.Fatalf("Send: %+v, %v", receipt, err)
	}
	return typed
}

// certificate is for 127.0.0.1, and the pool is of those who trust it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// tooMuch does not fit into the buffers between a channel and a server that
// does not read.
var tooMuch = strings.Repeat("too much for the buffers on the way\n", 250_000)
