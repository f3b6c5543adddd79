package notifyhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// WebhookOptions are the settings of [Webhooks]. Nil and all zero values mean the
// defaults.
type WebhookOptions struct {
	// URL is the public address of the handler, without the provider's name:
	// "https://example.com/webhooks". Some providers sign the address that they call, so
	// behind a proxy they need it. Empty: the address as this process sees it.
	URL string
	// Account is the tenant whose own account, from a notify.ChannelSource, reports here.
	// Callbacks then only change messages that were sent through that account. Empty: the
	// accounts that tenants share.
	Account notify.Scope
	// MaxBody is the limit of a callback in bytes; default 1 MiB, at most 10 MiB.
	MaxBody int64
	// Concurrency is how many callbacks are handled at once; default 16. Others wait, at
	// most Timeout.
	Concurrency int
	// Timeout is the limit of one callback, in real time; default 10 s. Providers give up
	// after about as long, and repeat it.
	Timeout time.Duration
	// Logger gets refused callbacks and why; default slog.Default().
	Logger *slog.Logger
	// MeterProvider counts; default otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
}

const (
	defaultWebhookBody = 1 << 20
	maxWebhookBody     = 10 << 20
)

func (o *WebhookOptions) withDefaults() WebhookOptions {
	var out WebhookOptions
	if o != nil {
		out = *o
	}
	out.URL = strings.TrimSuffix(out.URL, "/")
	if u, err := url.Parse(out.URL); out.URL != "" && (err != nil || u.Scheme == "" || u.Host == "" || u.RawQuery != "") {
		panic("notifyhttp: Webhooks: URL must be an absolute URL without query, such as https://example.com/webhooks")
	}
	out.MaxBody = cmp.Or(out.MaxBody, defaultWebhookBody)
	if out.MaxBody < 0 || out.MaxBody > maxWebhookBody {
		panic(fmt.Sprintf("notifyhttp: Webhooks: MaxBody is %d, but must be 1 to %d", out.MaxBody, maxWebhookBody))
	}
	out.Concurrency = cmp.Or(max(out.Concurrency, 0), 16)
	out.Timeout = cmp.Or(max(out.Timeout, 0), 10*time.Second)
	out.Logger = loglimit.Limited(out.Logger)
	if out.MeterProvider == nil {
		out.MeterProvider = otel.GetMeterProvider()
	}
	return out
}

// Webhooks receives the callbacks of providers, each under its name (Communication -
// Codebase flow, "Webhook & Tracker"):
//
//	POST /{provider}
//
// Mount it with http.StripPrefix, outside of middleware that needs a session or a CSRF
// token. A callback is authenticated by its signature over the raw bytes, before it is
// parsed. The answers are
//
//	204  tracked, or known before: a replay changes nothing
//	400  genuine, and not to be understood
//	403  not proven to come from the provider, or not fresh
//	404  a provider that is not served here
//	405  another method than POST
//	413  a body over MaxBody, or more than notify.MaxWebhookEvents events
//	415  a compressed body
//	503  our own failure: the provider repeats it
//
// with no further text. The host's server limits slow callers (http.Server.ReadTimeout).
// It panics without a notifier, on a nil webhook, on two with one name, and on invalid
// options.
func Webhooks(n *notify.Notifier, opts *WebhookOptions, webhooks ...channel.Webhook) http.Handler {
	if n == nil {
		panic("notifyhttp: Webhooks needs a notifier")
	}
	s := &hooks{n: n, o: opts.withDefaults(), by: map[string]channel.Webhook{}}
	for i, w := range webhooks {
		if w == nil {
			panic(fmt.Sprintf("notifyhttp: Webhooks: webhook %d is nil", i+1))
		}
		name := w.Provider()
		if s.by[name] != nil || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			panic(fmt.Sprintf("notifyhttp: Webhooks: the name %q is used twice, or has other characters than lower-case letters, digits and '-'", name))
		}
		s.by[name] = w
	}
	s.m = newWebhookMetrics(s.o.MeterProvider)
	s.slots = make(chan struct{}, s.o.Concurrency)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{provider}", s.serve)
	return mux
}

type hooks struct {
	n     *notify.Notifier
	o     WebhookOptions
	by    map[string]channel.Webhook
	m     webhookMetrics
	slots chan struct{} // limits the callbacks that are handled at once
}

// status is an answer other than 204, and its name in metrics and logs.
type status struct {
	code int
	word string
}

var (
	refused     = status{http.StatusForbidden, "refused"}
	unreadable  = status{http.StatusBadRequest, "unreadable"}
	tooLarge    = status{http.StatusRequestEntityTooLarge, "too large"}
	compressed  = status{http.StatusUnsupportedMediaType, "compressed"}
	failed      = status{http.StatusServiceUnavailable, "failed"}
	interrupted = status{http.StatusBadRequest, "interrupted"}
	taken       = status{http.StatusNoContent, "taken"}
)

func (s *hooks) serve(w http.ResponseWriter, r *http.Request) {
	hook := s.by[r.PathValue("provider")]
	if hook == nil {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
	defer cancel()
	rep, answer := s.take(ctx, hook, w, r)
	s.m.count(ctx, hook.Provider(), answer.word, rep)
	if answer != taken {
		// Address, body and signature are not logged: the caller is not trusted.
		s.o.Logger.WarnContext(ctx, "belfry: a provider's callback was refused", slog.String("provider", hook.Provider()), slog.String("outcome", answer.word))
	}
	if rep.Refused > 0 {
		s.o.Logger.WarnContext(ctx, "belfry: a provider's callback had events that lack required data", slog.String("provider", hook.Provider()), slog.Int("events", rep.Refused))
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(answer.code)
}

// take reads and tracks one callback.
func (s *hooks) take(ctx context.Context, hook channel.Webhook, w http.ResponseWriter, r *http.Request) (notify.TrackReport, status) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return notify.TrackReport{}, compressed
	}
	body, problem := httpapi.RawBody(w, r, s.o.MaxBody)
	switch problem {
	case nil:
	case httpapi.TooLarge:
		return notify.TrackReport{}, tooLarge
	default:
		return notify.TrackReport{}, interrupted
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return notify.TrackReport{}, failed
	}
	rep, err := s.n.Receive(ctx, s.o.Account, hook, channel.WebhookRequest{
		Method: r.Method, URL: s.url(r), Header: r.Header, Body: body,
	})
	return rep, answerTo(err)
}

func answerTo(err error) status {
	switch {
	case err == nil:
		return taken
	case errors.Is(err, channel.ErrWebhookRefused):
		return refused
	case errors.Is(err, notify.ErrWebhookUnreadable):
		return unreadable
	case errors.Is(err, notify.ErrWebhookTooLarge):
		return tooLarge
	}
	return failed
}

// url is the address that the provider called. Without Options.URL it is the address as
// this process sees it, which differs behind a proxy; then a signature over the address
// does not match, and the callback is refused.
func (s *hooks) url(r *http.Request) string {
	switch {
	case s.o.URL == "" && r.TLS == nil:
		return "http://" + r.Host + r.RequestURI
	case s.o.URL == "":
		return "https://" + r.Host + r.RequestURI
	case r.URL.RawQuery == "":
		return s.o.URL + "/" + r.PathValue("provider")
	}
	return s.o.URL + "/" + r.PathValue("provider") + "?" + r.URL.RawQuery
}

// webhookMetrics count callbacks and their events. Attributes are names from
// code, never data.
type webhookMetrics struct{ callbacks, events metric.Int64Counter }

func newWebhookMetrics(p metric.MeterProvider) webhookMetrics {
	meter := p.Meter("github.com/belfry-go/belfry")
	counter := func(name, about string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithDescription(about))
		if err != nil {
			panic(err) // the names are constants
		}
		return c
	}
	return webhookMetrics{
		callbacks: counter("belfry.webhook.callbacks", "Callbacks of providers, by result."),
		events:    counter("belfry.webhook.events", "Events in callbacks, by result."),
	}
}

func (m webhookMetrics) count(ctx context.Context, provider, outcome string, rep notify.TrackReport) {
	who := attribute.String("provider", provider)
	m.callbacks.Add(ctx, 1, metric.WithAttributes(who, attribute.String("outcome", outcome)))
	for word, n := range map[string]int{"applied": rep.Applied, "repeated": rep.Repeated, "waiting": rep.Waiting, "refused": rep.Refused} {
		if n > 0 {
			m.events.Add(ctx, int64(n), metric.WithAttributes(who, attribute.String("outcome", word)))
		}
	}
}
