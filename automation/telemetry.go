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
	reconciled, repaired                 metric.Int64Counter
	rolloutRuns                          metric.Int64Counter
	rolloutLatency                       metric.Float64Histogram
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
	latency, err := m.Float64Histogram("belfry.automation.rollout.latency", metric.WithUnit("s"),
		metric.WithDescription("From the moment of a guarded run to its delivery here, by stage."))
	if err != nil {
		panic(err) // the name is a constant
	}
	return &telemetry{
		rolloutRuns:    counter("belfry.automation.rollout.runs", "Runs under the ownership guard that the due pass settled, by stage and outcome."),
		rolloutLatency: latency,
		ensuredRows:    counter("belfry.automation.ensured", "Candidates ensured, by outcome."),
		events:         counter("belfry.automation.events", "Events handled, by outcome."),
		ended:          counter("belfry.automation.deactivated", "Rows that events ended, by reason."),
		reconciled:     counter("belfry.automation.reconciled.sources", "Sources that reconciliation looked at, by outcome."),
		repaired:       counter("belfry.automation.reconciled.rows", "Rows that reconciliation repaired, by what it did."),
		untraced:       counter("belfry.automation.traces.failed", "Traces of rows that could not be written."),
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

// run counts a finished run of reconciliation.
func (t *telemetry) run(ctx context.Context, r ReconcileReport) {
	unchanged, stale, failed := int64(r.Unchanged), int64(r.Stale), int64(r.Failed)
	add(ctx, t.reconciled, "outcome", map[string]int64{
		"Unchanged": unchanged, "Stale": stale, "Failed": failed, "Repaired": int64(r.Scanned) - unchanged - stale - failed,
	})
	add(ctx, t.repaired, "kind", map[string]int64{
		"Created": int64(r.Created), "Updated": int64(r.Updated), "Reactivated": int64(r.Reactivated),
		"Deactivated": int64(r.Deactivated), "Conflict": int64(r.Conflicts),
	})
}

// word is the reason if it is one that this package gives, and otherwise "Host":
// what a host writes there may be data, and of any number of values.
func (r Reason) word() string {
	switch r {
	case Superseded, ThresholdNoLongerMet, Invalidated, SourceNoLongerValid, ReminderSettingInactive, InputChanged, TooLate, Overtaken:
		return string(r)
	}
	return "Host"
}

func add(ctx context.Context, c metric.Int64Counter, name string, counts map[string]int64) {
	for value, n := range counts {
		c.Add(ctx, n, metric.WithAttributes(attribute.String(name, value)))
	}
}
