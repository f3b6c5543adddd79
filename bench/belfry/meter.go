package belfry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/belfry-go/belfry/internal/contender"
)

// meter keeps every value of one instrument, as an exporter's buckets would not.
type meter struct {
	noop.MeterProvider
	instrument string

	mu     sync.Mutex
	values []float64
}

func (m *meter) Meter(string, ...metric.MeterOption) metric.Meter { return instruments{of: m} }

func (m *meter) quantile(q float64) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return contender.Quantile(m.values, q)
}

type instruments struct {
	noop.Meter
	of *meter
}

func (i instruments) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if name != i.of.instrument {
		return noop.Float64Histogram{}, nil
	}
	return histogram{of: i.of}, nil
}

type histogram struct {
	noop.Float64Histogram
	of *meter
}

func (h histogram) Record(_ context.Context, v float64, _ ...metric.RecordOption) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.values = append(h.of.values, v)
}
