package work

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const scopeName = "github.com/belfry-go/belfry"

// telemetry counts and traces one pass. Attributes are names of stores and from code
// (pass, status), never data.
type telemetry struct {
	tracer trace.Tracer
	of     []attribute.KeyValue // the pass, and the store if it has a name

	claims, rows, stale, lost, failed, overdue metric.Int64Counter
	lag, restarts, claim, duration             metric.Float64Histogram
}

func newTelemetry(pass string, o Options) *telemetry {
	m := o.MeterProvider.Meter(scopeName)
	counter := func(name, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithDescription(about))
		if err != nil {
			panic(err) // the names are constants
		}
		return c
	}
	seconds := func(name, about string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about))
		if err != nil {
			panic(err)
		}
		return h
	}
	of := []attribute.KeyValue{attribute.String("pass", pass)}
	if o.Store != "" {
		of = append(of, attribute.String("store", o.Store))
	}
	return &telemetry{
		tracer:   o.TracerProvider.Tracer(scopeName),
		of:       slices.Clip(of),
		claims:   counter("belfry.rows.claimed", "Rows claimed."),
		rows:     counter("belfry.rows.settled", "Rows settled, by their new status."),
		stale:    counter("belfry.rows.stale", "Rows that another process or the host wrote while they were handled."),
		lost:     counter("belfry.leases.lost", "Leases that ran out under a handler."),
		failed:   counter("belfry.polls.failed", "Polls that ended with an error."),
		overdue:  counter("belfry.groups.overdue", "Groups of rows whose handler took longer than it may, by kind."),
		lag:      seconds("belfry.due.lag", "How late the latest row of a claim was."),
		restarts: seconds("belfry.claim.restart", "How long a row waits at most that was made due in the past."),
		claim:    seconds("belfry.claim.duration", "How long a claim took."),
		duration: seconds("belfry.group.duration", "How long a group of rows was handled."),
	}
}

func (t *telemetry) claimed(ctx context.Context, rows int, lag time.Duration) {
	t.claims.Add(ctx, int64(rows), metric.WithAttributes(t.of...))
	t.lag.Record(ctx, lag.Seconds(), metric.WithAttributes(t.of...))
}

func (t *telemetry) claiming(ctx context.Context) func() {
	start := realClock.Now()
	return func() { t.claim.Record(ctx, realClock.Since(start).Seconds(), metric.WithAttributes(t.of...)) }
}

func (t *telemetry) restarted(ctx context.Context, next time.Duration) {
	t.restarts.Record(ctx, next.Seconds(), metric.WithAttributes(t.of...))
}

func (t *telemetry) leaseLost(ctx context.Context) {
	t.lost.Add(ctx, 1, metric.WithAttributes(t.of...))
}

func (t *telemetry) tookTooLong(ctx context.Context, kind string) {
	t.overdue.Add(ctx, 1, metric.WithAttributes(append(t.of, attribute.String("kind", kind))...))
}

func (t *telemetry) pollFailed(ctx context.Context) {
	t.failed.Add(ctx, 1, metric.WithAttributes(t.of...))
}

// settled counts a committed batch by the new statuses of its rows.
func (t *telemetry) settled(ctx context.Context, statuses map[string]int, stale int) {
	for status, n := range statuses {
		t.rows.Add(ctx, int64(n), metric.WithAttributes(append(t.of, attribute.String("status", status))...))
	}
	t.stale.Add(ctx, int64(stale), metric.WithAttributes(t.of...))
}

func (t *telemetry) handling(ctx context.Context, rows int) (context.Context, func(error)) {
	start := realClock.Now()
	ctx, span := t.span(ctx, "belfry.handle", rows)
	return ctx, func(err error) {
		t.duration.Record(ctx, realClock.Since(start).Seconds(), metric.WithAttributes(t.of...))
		end(span, err)
	}
}

func (t *telemetry) settling(ctx context.Context, rows int) (context.Context, func(error)) {
	ctx, span := t.span(ctx, "belfry.settle", rows)
	return ctx, func(err error) { end(span, err) }
}

func (t *telemetry) span(ctx context.Context, name string, rows int) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name, trace.WithAttributes(append(t.of, attribute.Int("rows", rows))...))
}

// end says whether there was an error, not which: its text may hold data.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
