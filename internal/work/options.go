package work

import (
	"cmp"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/belfry-go/belfry/storage"
)

// Options are a poller's settings. The root package documents them for hosts.
type Options struct {
	Batch       int
	Interval    time.Duration
	Lease       time.Duration
	Concurrency int
	InFlight    int
	Grace       time.Duration
	Lanes       map[int16]int

	Logger         *slog.Logger
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
}

func (o Options) withDefaults() Options {
	o.Batch = cmp.Or(o.Batch, 1000)
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.Lease = cmp.Or(o.Lease, time.Minute)
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	o.InFlight = max(cmp.Or(o.InFlight, 4000), o.Batch)
	o.Grace = cmp.Or(o.Grace, 30*time.Second)
	if len(o.Lanes) == 0 {
		o.Lanes = map[int16]int{storage.LaneUrgent: 8, storage.LaneNormal: 4, storage.LaneBulk: 1}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	return o
}
