package webhook

import (
	"cmp"
	"crypto/tls"
	"errors"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/internal/standardwebhooks"
)

// Options are the settings of a Subscriber. URL and Secrets are required.
type Options struct {
	// Key is the key of the subscriber; empty means "webhook:standard".
	Key string
	// URL is the receiver's, such as "https://bi.example.com/hooks".
	URL string
	// Secrets sign every request: base64 of 24 to 64 random bytes, with or without
	// "whsec_" before it. More than one is for the time in which one is replaced.
	Secrets []string
	// Trusted are hosts, names or IP addresses as in the URL, whose addresses need
	// not be public, and which may be called over http: receivers of one's own, and
	// servers of tests.
	Trusted []string
	// Timeout bounds one request, in real time; zero means 15 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the requests at work; zero means 10.
	MaxConns int
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "webhook:standard")
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.MaxConns = cmp.Or(o.MaxConns, 10)
	return o
}

// check lists every setting that cannot be used, without a secret or the URL.
func (o Options) check() (standardwebhooks.Keys, error) {
	var faults []error
	keys, err := standardwebhooks.ParseKeys(o.Secrets...)
	if err != nil {
		faults = append(faults, errors.New("webhook: Secrets: "+err.Error()))
	}
	for _, host := range o.Trusted {
		if host == "" || strings.ContainsAny(host, "/@ *") || strings.Count(host, ":") == 1 {
			faults = append(faults, errors.New("webhook: Trusted holds what is no host, such as hooks.internal or 10.0.0.7"))
		}
	}
	if !(safedial.Dialer{Trusted: o.Trusted}).Callable(o.URL) {
		faults = append(faults, errors.New("webhook: URL is no address of the form https://host/path"))
	}
	if o.Timeout < 0 || o.MaxConns < 0 {
		faults = append(faults, errors.New("webhook: Timeout or MaxConns is negative"))
	}
	return keys, errors.Join(faults...)
}
