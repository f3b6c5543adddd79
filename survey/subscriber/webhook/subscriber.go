package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/survey"
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
	// not be public, and which may be called over http and on any port: receivers of
	// one's own, and servers of tests.
	Trusted []string
	// Ports may be called besides 443 at hosts that are not trusted.
	Ports []int
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
			faults = append(faults, errors.New("webhook: Trusted holds what is not a host, such as hooks.internal or 10.0.0.7"))
		}
	}
	if !(safedial.Dialer{Trusted: o.Trusted, Ports: o.Ports}).Callable(o.URL) {
		faults = append(faults, errors.New("webhook: URL is not an address of the form https://host/path with an open port"))
	}
	if o.Timeout < 0 || o.MaxConns < 0 {
		faults = append(faults, errors.New("webhook: Timeout or MaxConns is negative"))
	}
	return keys, errors.Join(faults...)
}

// EventType is the type of every body.
const EventType = "survey." + survey.EventResponseCompleted

// maxAnswer bounds what is read of an answer, so that its connection can be used
// again.
const maxAnswer = 64 << 10

var _ survey.Subscriber = (*Subscriber)(nil)

// Subscriber posts responses to one receiver. It is safe for several goroutines.
// Close it when nothing dispatches any more.
type Subscriber struct {
	key       string
	url       func() string // functions, so that nothing that is printed shows them
	sign      func(id string, at time.Time, body []byte) http.Header
	timeout   time.Duration
	transport *http.Transport
	gone      atomic.Bool
}

// New returns a subscriber. An error lists every setting that cannot be used, and
// never holds a secret.
func New(opts *Options) (*Subscriber, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o = o.withDefaults()
	keys, err := o.check()
	if err != nil {
		return nil, err
	}
	dialer := safedial.Dialer{Trusted: o.Trusted, Ports: o.Ports}
	return &Subscriber{
		key: o.Key, url: func() string { return o.URL }, sign: keys.Header, timeout: o.Timeout,
		transport: safedial.Transport(dialer.DialContext, o.TLSConfig, o.Timeout, o.MaxConns),
	}, nil
}

// Key returns "webhook:standard", or what Options.Key says.
func (s *Subscriber) Key() string { return s.key }

// Close ends the idle connections. A Dispatch at work finishes.
func (s *Subscriber) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Disabled reports whether the receiver has answered 410 since the start, or since
// Enable.
func (s *Subscriber) Disabled() bool { return s.gone.Load() }

// Enable has the receiver called again after a 410.
func (s *Subscriber) Enable() { s.gone.Store(false) }

// body is the same at each attempt.
type body struct {
	Type      string                   `json:"type"`
	Timestamp time.Time                `json:"timestamp"`
	Data      survey.ResponseCompleted `json:"data"`
}

// Dispatch posts e. The package documentation says what becomes of the answer;
// errors hold neither the URL nor what the receiver wrote.
func (s *Subscriber) Dispatch(ctx context.Context, e survey.ResponseCompleted) error {
	if s.Disabled() {
		return survey.Permanent(errors.New("webhook: disabled since the receiver answered 410"))
	}
	text, err := json.Marshal(body{EventType, e.CompletedOn, e})
	if err != nil {
		return survey.Permanent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url(), bytes.NewReader(text))
	if err != nil { // whose text holds the URL
		return survey.Permanent(errors.New("webhook: no request can be made"))
	}
	request.Header = s.sign(e.EventID, e.DispatchedOn, text)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "belfry")
	response, err := s.transport.RoundTrip(request) // follows nothing
	if err != nil {
		return unanswered(err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	return s.judge(response)
}

func (s *Subscriber) judge(r *http.Response) error {
	switch {
	case r.StatusCode/100 == 2:
		return nil
	case r.StatusCode == http.StatusGone:
		s.gone.Store(true)
		return survey.Permanent(errors.New("webhook: the receiver wants no more: answer 410"))
	}
	err := fmt.Errorf("webhook: answer %d", r.StatusCode)
	if wait := standardwebhooks.RetryAfter(r.Header); wait > 0 {
		return survey.RetryAfter(wait, err)
	}
	return err
}

// unanswered keeps of an error only its kind: names and addresses stand in it.
func unanswered(err error) error {
	if errors.Is(err, safedial.ErrForbidden) {
		return survey.Permanent(fmt.Errorf("webhook: %w", safedial.ErrForbidden))
	}
	if cause := safedial.Cause(err); cause != "" {
		return errors.New("webhook: no connection: " + cause)
	}
	return errors.New("webhook: no connection or no answer")
}

// Verify is for receivers in Go: it proves that a request with these headers and
// this raw body was signed with the secret, at most five minutes from now. A
// receiver that replaces its secret verifies with either. It does not know which
// ids came before. The error says what is wrong, and holds no secret.
func Verify(secret string, h http.Header, body []byte, now time.Time) error {
	keys, err := standardwebhooks.ParseKeys(secret)
	if err != nil {
		return err
	}
	return keys.Verify(h, body, now)
}
