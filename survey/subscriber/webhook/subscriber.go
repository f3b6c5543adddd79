package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/survey"
)

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
	dialer := safedial.Dialer{Trusted: o.Trusted}
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
		return fmt.Errorf("webhook: disabled since the receiver answered 410: %w", survey.ErrRefused)
	}
	text, err := json.Marshal(body{EventType, e.CompletedOn, e})
	if err != nil {
		return fmt.Errorf("%w: %w", survey.ErrRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url(), bytes.NewReader(text))
	if err != nil { // whose text holds the URL
		return fmt.Errorf("webhook: no request can be made: %w", survey.ErrRefused)
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
		return fmt.Errorf("webhook: the receiver wants no more: answer 410: %w", survey.ErrRefused)
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
		return fmt.Errorf("webhook: %w: %w", safedial.ErrForbidden, survey.ErrRefused)
	}
	if cause := safedial.Cause(err); cause != "" {
		return errors.New("webhook: no connection: " + cause)
	}
	return errors.New("webhook: no connection or no answer")
}
