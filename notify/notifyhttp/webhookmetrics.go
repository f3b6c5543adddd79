package notifyhttp

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/notify"
)

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
		callbacks: counter("belfry.webhook.callbacks", "Callbacks of providers, by what became of them."),
		events:    counter("belfry.webhook.events", "Events in callbacks, by what became of them."),
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
