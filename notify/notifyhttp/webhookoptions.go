package notifyhttp

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// WebhookOptions are the settings of [Webhooks]; nil and every zero value are
// useful.
type WebhookOptions struct {
	// URL is where the handler is mounted, as providers know it, without the
	// provider's name: "https://example.com/webhooks". Some providers sign the
	// address that they call, so behind a proxy it is required for those. Empty:
	// the address as this process sees it.
	URL string
	// MaxBody bounds a callback in bytes; default 1 MiB, at most 10 MiB.
	MaxBody int64
	// Concurrency is how many callbacks are worked on at once; default 16. Others
	// wait, as long as Timeout.
	Concurrency int
	// Timeout bounds one callback, in real time; default 10 s. Providers give up
	// after about as long, and repeat it.
	Timeout time.Duration
	// Logger gets what was not taken, and why; default slog.Default().
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
		panic("notifyhttp: Webhooks: URL is not the address of a folder")
	}
	out.MaxBody = cmp.Or(out.MaxBody, defaultWebhookBody)
	if out.MaxBody < 0 || out.MaxBody > maxWebhookBody {
		panic(fmt.Sprintf("notifyhttp: Webhooks: a MaxBody of %d, which is not between 1 and %d", out.MaxBody, maxWebhookBody))
	}
	out.Concurrency = cmp.Or(max(out.Concurrency, 0), 16)
	out.Timeout = cmp.Or(max(out.Timeout, 0), 10*time.Second)
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	if out.MeterProvider == nil {
		out.MeterProvider = otel.GetMeterProvider()
	}
	return out
}
