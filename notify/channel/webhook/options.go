package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. Either Secrets or SecretsOf is required.
type Options struct {
	// Key is the key of the channel; empty means "webhook:standard".
	Key string
	// Secrets sign every message, whoever receives it: base64 of 24 to 64 random
	// bytes, with or without "whsec_" before it. More than one is for the time in
	// which a secret is replaced. Receivers who do not trust each other must not
	// share a secret; see SecretsOf.
	Secrets []string
	// SecretsOf gives the secrets of the receiver at that URL. It is called before
	// each request, from several goroutines. An error refuses the message for now
	// (Transient); its text is not kept.
	SecretsOf func(ctx context.Context, url string) ([]string, error)
	// Type is the "type" of every body; empty means "message".
	Type string
	// Deduplicates is for how long all receivers remember the ids of messages. A
	// message in doubt is sent again within that time after its first call; zero
	// means never.
	Deduplicates time.Duration
	// Trusted are hosts, names or IP addresses as in the URL, whose addresses need
	// not be public, and which may be called over http: receivers of one's own, and
	// servers of tests.
	Trusted []string
	// Timeout bounds one Send, in real time; zero means 15 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections to one host, and so the Sends at work; others
	// wait for their turn within their Timeout. Zero means 10.
	MaxConns int
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "webhook:standard")
	o.Type = cmp.Or(o.Type, "message")
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	return o
}

func (o Options) check(f *rest.Faults) {
	f.Add((len(o.Secrets) == 0) == (o.SecretsOf == nil), "either Secrets or SecretsOf is required")
	f.Add(o.Deduplicates < 0, "Deduplicates is negative")
	for _, host := range o.Trusted {
		f.Add(host == "" || strings.ContainsAny(host, "/@ *") || strings.Count(host, ":") == 1, "Trusted holds what is no host, such as hooks.internal or 10.0.0.7")
	}
}

func (o Options) client(d safedial.Dialer) rest.Options {
	return rest.Options{Provider: "webhook", Timeout: o.Timeout, MaxConns: o.MaxConns, TLS: o.TLSConfig, Dial: d.DialContext}
}
