package automation

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// telemetry counts what callers ask for; the pass counts its own. Attributes are
// words of this package, never data.
type telemetry struct {
	ensuredRows, events, ended, untraced metric.Int64Counter
}

func newTelemetry(o Options) *telemetry {
	m := o.MeterProvider.Meter("github.com/belfry-go/belfry")
	counter := func(name, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithDescription(about))
		if err != nil {
			panic(err) // the names are constants
		}
		return c
	}
	return &telemetry{
		ensuredRows: counter("belfry.automation.ensured", "Candidates ensured, by outcome."),
		events:      counter("belfry.automation.events", "Events handled, by outcome."),
		ended:       counter("belfry.automation.deactivated", "Rows that events ended, by reason."),
		untraced:    counter("belfry.automation.traces.failed", "Traces of rows that could not be written."),
	}
}

func (t *telemetry) traceFailed(ctx context.Context, rows int) { t.untraced.Add(ctx, int64(rows)) }

func (t *telemetry) ensured(ctx context.Context, out []Ensured) {
	counts := map[string]int64{}
	for _, e := range out {
		counts[string(e.Outcome)]++
	}
	add(ctx, t.ensuredRows, "outcome", counts)
}

func (t *telemetry) event(ctx context.Context, r EventResult) {
	add(ctx, t.events, "outcome", map[string]int64{string(r.Outcome): 1})
	reasons := map[string]int64{}
	for _, d := range r.Deactivated {
		reasons[d.Reason.word()]++
	}
	add(ctx, t.ended, "reason", reasons)
	t.ensured(ctx, r.Ensured)
}

// word is the reason if it is one that this package gives, and otherwise "Host":
// what a host writes there may be data, and of any number of values.
func (r Reason) word() string {
	switch r {
	case Superseded, ThresholdNoLongerMet, Invalidated, SourceNoLongerValid, ReminderSettingInactive, InputChanged, TooLate:
		return string(r)
	}
	return "Host"
}

func add(ctx context.Context, c metric.Int64Counter, name string, counts map[string]int64) {
	for value, n := range counts {
		c.Add(ctx, n, metric.WithAttributes(attribute.String(name, value)))
	}
}
