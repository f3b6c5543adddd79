package automation

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Options are a scheduler's settings; every zero value is useful.
type Options struct {
	// Settings loads reminder settings. Nil: every registered type is its own
	// active setting.
	Settings SettingsSource
	// Zone gives the IANA zone of a business unit, for candidates that name none.
	// An empty answer leaves it to the type. It may be called from several
	// goroutines. See [TxOf] if it asks the scheduler's own store.
	Zone func(ctx context.Context, scope Scope, businessUnit string) (string, error)

	// Traces says whether the due pass keeps a trace of every row that it handles,
	// for support; nil: none.
	Traces *Traces

	Logger        *slog.Logger         // default slog.Default()
	MeterProvider metric.MeterProvider // default: the global one
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	if out.MeterProvider == nil {
		out.MeterProvider = otel.GetMeterProvider()
	}
	return out
}
