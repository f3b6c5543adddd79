package canarytest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// ears keep everything that is said to operators, by where it was said: "log",
// "metric", "span", "error", "answer".
type ears struct {
	mu   sync.Mutex
	said map[string][]string
}

func (e *ears) hear(where string, what ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said[where] = append(e.said[where], fmt.Sprint(what...))
}

// failed keeps an error and what it wraps, with whatever they show when they are
// printed.
func (e *ears) failed(err error) {
	for ; err != nil; err = errors.Unwrap(err) {
		e.hear("error", fmt.Sprintf("%v %+v %#v", err, err, err))
	}
}

// heard are the lines of one place that hold a canary.
func (e *ears) heard(where string) (all int, leaks []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, line := range e.said[where] {
		if strings.Contains(strings.ToLower(line), canary) || strings.Contains(line, phoneDigits) {
			leaks = append(leaks, line)
		}
	}
	return len(e.said[where]), leaks
}

// logger takes all levels.
func (e *ears) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(lines{e}, &slog.HandlerOptions{Level: slog.LevelDebug - 4, AddSource: true}))
}

type lines struct{ e *ears }

func (l lines) Write(p []byte) (int, error) {
	l.e.hear("log", string(p))
	return len(p), nil
}

type meters struct {
	metricnoop.MeterProvider
	e *ears
}

func (m meters) Meter(name string, _ ...metric.MeterOption) metric.Meter {
	return meter{e: m.e, name: name}
}

type meter struct {
	metricnoop.Meter
	e    *ears
	name string
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{m: m, name: name}, nil
}

func (m meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return histogram{m: m, name: name}, nil
}

type counter struct {
	metricnoop.Int64Counter
	m    meter
	name string
}

func (c counter) Add(_ context.Context, n int64, o ...metric.AddOption) {
	c.m.e.hear("metric", c.m.name, " ", c.name, " ", n, " ", text(metric.NewAddConfig(o).Attributes()))
}

type histogram struct {
	metricnoop.Float64Histogram
	m    meter
	name string
}

func (h histogram) Record(_ context.Context, v float64, o ...metric.RecordOption) {
	h.m.e.hear("metric", h.m.name, " ", h.name, " ", v, " ", text(metric.NewRecordConfig(o).Attributes()))
}

func text(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }

type tracers struct {
	tracenoop.TracerProvider
	e *ears
}

func (t tracers) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{e: t.e} }

type tracer struct {
	tracenoop.Tracer
	e *ears
}

func (t tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := span{e: t.e}
	c := trace.NewSpanStartConfig(o...)
	t.e.hear("span", name, " ", text(attribute.NewSet(c.Attributes()...)))
	return trace.ContextWithSpan(ctx, s), s
}

type span struct {
	tracenoop.Span
	e *ears
}

func (span) IsRecording() bool                               { return true }
func (s span) SetName(name string)                           { s.e.hear("span", name) }
func (s span) SetStatus(_ codes.Code, description string)    { s.e.hear("span", description) }
func (s span) RecordError(err error, _ ...trace.EventOption) { s.e.hear("span", err) }

func (s span) SetAttributes(kv ...attribute.KeyValue) {
	s.e.hear("span", text(attribute.NewSet(kv...)))
}

func (s span) AddEvent(name string, o ...trace.EventOption) {
	c := trace.NewEventConfig(o...)
	s.e.hear("span", name, " ", text(attribute.NewSet(c.Attributes()...)))
}
