package notifyhttp_test

import (
	"context"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// counts is a meter provider that adds up what is counted, by its attributes.
type counts struct {
	noop.MeterProvider
	mu sync.Mutex
	n  map[string]int64
}

func (c *counts) Meter(string, ...metric.MeterOption) metric.Meter { return countsMeter{c: c} }

func (c *counts) all() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

type countsMeter struct {
	noop.Meter
	c *counts
}

func (m countsMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counting{c: m.c, name: strings.TrimPrefix(name, "belfry.webhook.")}, nil
}

type counting struct {
	noop.Int64Counter
	c    *counts
	name string
}

func (i counting) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	set := metric.NewAddConfig(opts).Attributes()
	provider, _ := set.Value("provider")
	outcome, _ := set.Value("outcome")
	i.c.mu.Lock()
	defer i.c.mu.Unlock()
	i.c.n[i.name+" "+provider.AsString()+" "+outcome.AsString()] += n
}
