package work_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// canary is in whatever a tenant or a host says.
const canary = "canary"

func secret(typ string, due time.Time) task {
	return task{
		Due:  driver.Due{Record: storage.Record{Scope: "tenant " + canary, Key: typ + canary, Kind: typ, Status: "Ready"}, DueOn: due},
		Note: canary,
	}
}

// noCanary fails if anything that was recorded holds what a tenant said.
func (i *instruments) noCanary(t *testing.T) {
	t.Helper()
	if all := fmt.Sprint(i.made, i.counts, i.values, i.traced()); strings.Contains(all, canary) {
		t.Error("tenants' data is among the measurements:", all)
	}
}

// same compares what a pass measured with what it should have.
func (i *instruments) same(t *testing.T, counts map[string]int64, values map[string][]float64, spans ...string) {
	t.Helper()
	for _, diff := range []string{cmp.Diff(counts, i.counts), cmp.Diff(values, i.values), cmp.Diff(spans, i.traced())} {
		if diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	i.noCanary(t)
}

func TestTheInstrumentsHaveTheirNamesAndUnits(t *testing.T) {
	t.Parallel()
	i, b := newInstruments(), newBench(t)
	work.New(b.store, b.spec).Runner(i.options())
	slices.Sort(i.made)
	want := []string{
		"belfry.claim.duration s", "belfry.claim.restart s", "belfry.due.lag s", "belfry.group.duration s", "belfry.groups.overdue ", "belfry.leases.lost ",
		"belfry.polls.failed ", "belfry.rows.claimed ", "belfry.rows.settled ", "belfry.rows.stale ",
	}
	if diff := cmp.Diff(want, i.made); diff != "" {
		t.Error(diff)
	}
}

// One poll over rows that are done, fail, panic, lose their lease, and had lost
// it before; and one that also looks behind its cursor.
func TestI29_APollIsMeasuredByNamesFromCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, b := newInstruments(), newLive(t)
		now := b.store.Clock().Now()
		second, dead := secret("done", now), secret("dead", now)
		second.Key += "2"
		dead.Status, dead.ClaimToken, dead.LeaseExpiresOn = "Busy", "dead", now
		loses := b.ready("loses", now)
		loses.Kind = "loses"
		b.insert(secret("done", now.Add(-90*time.Second)), second, secret("fails", now), secret("panics", now), dead, loses)
		b.handle = func(_ context.Context, it work.Item[task]) error {
			switch it.Row.Kind {
			case "fails":
				return errors.New(canary)
			case "panics":
				panic(canary)
			case "loses":
				b.edit("loses", func(r *task) { r.ClaimToken = "another's" })
				<-it.Ctx.Done()
			}
			return nil
		}
		r := work.New(b.store, b.spec).Runner(i.options())
		b.poll(r, 10)
		b.insert(b.ready("behind", now.Add(-time.Second)))
		b.poll(r, 10)
		i.same(t,
			map[string]int64{
				"belfry.rows.claimed pass=task":              7,
				"belfry.rows.settled pass=task,status=Done":  3,
				"belfry.rows.settled pass=task,status=Ready": 3,
				"belfry.rows.stale pass=task":                1,
				"belfry.leases.lost pass=task":               1,
			},
			map[string][]float64{
				"belfry.claim.duration pass=task": {0, 0},
				"belfry.claim.restart pass=task":  {1, 1},
				"belfry.due.lag pass=task":        {19, 90},
				"belfry.group.duration pass=task": {0, 0, 0, 0, 18}, // a lease is renewed after three tenths of a minute
			},
			"belfry.handle pass=task,rows=1 ended ", // a lost lease is not an error of its group
			"belfry.handle pass=task,rows=1 ended ",
			"belfry.handle pass=task,rows=1 ended Error",
			"belfry.handle pass=task,rows=1 ended Error",
			"belfry.handle pass=task,rows=2 ended ",
			"belfry.settle pass=task,rows=1 ended ",
			"belfry.settle pass=task,rows=1 ended ",
			"belfry.settle pass=task,rows=5 ended ",
		)
	})
}

// The store refuses what a row decided: the batch is settled without it.
func TestI29_ASettleThatFailsSaysSoInItsSpan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, b := newInstruments(), newLive(t)
		b.insert(secret("done", b.store.Clock().Now()))
		b.spec.Dispatch = func(context.Context, storage.Tx, []work.Done[task, string]) error { return errors.New(canary) }
		b.poll(work.New(b.store, b.spec).Runner(i.options()), 10)
		i.same(t,
			map[string]int64{
				"belfry.rows.claimed pass=task":              1,
				"belfry.rows.settled pass=task,status=Ready": 1,
				"belfry.rows.stale pass=task":                0,
			},
			map[string][]float64{"belfry.claim.duration pass=task": {0}, "belfry.claim.restart pass=task": {1}, "belfry.due.lag pass=task": {0}, "belfry.group.duration pass=task": {0}},
			"belfry.handle pass=task,rows=1 ended ",
			"belfry.settle pass=task,rows=1 ended ",
			"belfry.settle pass=task,rows=1 ended Error",
		)
	})
}

func TestAHandlersCallsBelongToItsSpan(t *testing.T) {
	t.Parallel()
	i, b := newInstruments(), newBench(t)
	b.add("a")
	var inside trace.Span
	b.handle = func(ctx context.Context, _ work.Item[task]) error {
		inside = trace.SpanFromContext(ctx)
		return nil
	}
	b.poll(work.New(b.store, b.spec).Runner(i.options()), 10)
	if s, ok := inside.(*span); !ok || s.name != "belfry.handle" {
		t.Errorf("the handler ran in %+v", inside)
	}
}

func TestI29_PollsThatFailAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, b := newInstruments(), newLive(t)
		b.store = &storetest.Spy{Store: b.store, Hook: func(storetest.Call) error { return errors.New(canary) }}
		o := i.options()
		o.Interval = time.Second
		stop := b.run(o)
		pass(2500 * time.Millisecond)
		_ = stop()
		i.same(t, map[string]int64{"belfry.polls.failed pass=task": 3}, map[string][]float64{})
	})
}

// instruments notes what a pass counts, measures and traces, as text.
type instruments struct {
	mu     sync.Mutex
	made   []string             // "name unit"
	counts map[string]int64     // by "name attributes"
	values map[string][]float64 // by "name attributes", sorted
	spans  []*span
}

func newInstruments() *instruments {
	return &instruments{counts: map[string]int64{}, values: map[string][]float64{}}
}

func (i *instruments) options() work.Options {
	return work.Options{MeterProvider: meters{i: i}, TracerProvider: tracers{i: i}}
}

// traced are the spans, sorted, each with its attributes and how it ended.
func (i *instruments) traced() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []string
	for _, s := range i.spans {
		out = append(out, fmt.Sprintf("%s %s %s", s.name, s.attributes, s.outcome))
	}
	slices.Sort(out)
	return out
}

func text(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }

type meters struct {
	metricnoop.MeterProvider
	i *instruments
}

func (m meters) Meter(string, ...metric.MeterOption) metric.Meter { return meter{i: m.i} }

type meter struct {
	metricnoop.Meter
	i *instruments
}

func (m meter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	m.i.made = append(m.i.made, name+" "+metric.NewInt64CounterConfig(o...).Unit())
	return counter{name: name, i: m.i}, nil
}

func (m meter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	m.i.made = append(m.i.made, name+" "+metric.NewFloat64HistogramConfig(o...).Unit())
	return histogram{name: name, i: m.i}, nil
}

type counter struct {
	metricnoop.Int64Counter
	name string
	i    *instruments
}

func (c counter) Add(_ context.Context, n int64, o ...metric.AddOption) {
	c.i.mu.Lock()
	defer c.i.mu.Unlock()
	c.i.counts[c.name+" "+text(metric.NewAddConfig(o).Attributes())] += n
}

type histogram struct {
	metricnoop.Float64Histogram
	name string
	i    *instruments
}

func (h histogram) Record(_ context.Context, v float64, o ...metric.RecordOption) {
	h.i.mu.Lock()
	defer h.i.mu.Unlock()
	series := h.name + " " + text(metric.NewRecordConfig(o).Attributes())
	h.i.values[series] = append(h.i.values[series], v)
	slices.Sort(h.i.values[series])
}

type tracers struct {
	tracenoop.TracerProvider
	i *instruments
}

func (t tracers) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{i: t.i} }

type tracer struct {
	tracenoop.Tracer
	i *instruments
}

func (t tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	c := trace.NewSpanStartConfig(o...)
	s := &span{i: t.i, name: name, outcome: "is open"}
	s.SetAttributes(c.Attributes()...)
	t.i.mu.Lock()
	defer t.i.mu.Unlock()
	t.i.spans = append(t.i.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

// span is one piece of work; whatever is said about it shows in its text.
type span struct {
	tracenoop.Span
	i                         *instruments
	name, attributes, outcome string
	status                    string
}

func (s *span) SetAttributes(kv ...attribute.KeyValue) {
	s.attributes += text(attribute.NewSet(kv...))
}

func (s *span) SetStatus(code codes.Code, description string) {
	s.status = code.String() + description
}

func (s *span) SetName(name string) { s.name = name }

func (s *span) AddEvent(name string, o ...trace.EventOption) {
	c := trace.NewEventConfig(o...)
	s.attributes += name + text(attribute.NewSet(c.Attributes()...))
}

func (s *span) RecordError(err error, o ...trace.EventOption) { s.AddEvent(err.Error(), o...) }

func (s *span) End(...trace.SpanEndOption) {
	s.i.mu.Lock()
	defer s.i.mu.Unlock()
	if s.outcome != "is open" {
		s.outcome = "ended twice"
		return
	}
	s.outcome = "ended " + s.status
}
