package automation_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage/memory"
)

// stageMeters counts what a scheduler measures, by instrument and attributes.
type stageMeters struct {
	noop.MeterProvider
	mu     sync.Mutex
	counts map[string]int64
	values map[string][]float64
}

func (m *stageMeters) Meter(string, ...metric.MeterOption) metric.Meter { return stageMeter{m: m} }

type stageMeter struct {
	noop.Meter
	m *stageMeters
}

func (m stageMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counting{m: m.m, name: name}, nil
}

func (m stageMeter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return measuring{m: m.m, name: name}, nil
}

type counting struct {
	noop.Int64Counter
	m    *stageMeters
	name string
}

func (c counting) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.counts[labelled(c.name, metric.NewAddConfig(opts).Attributes())] += n
}

type measuring struct {
	noop.Float64Histogram
	m    *stageMeters
	name string
}

func (h measuring) Record(_ context.Context, value float64, opts ...metric.RecordOption) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	name := labelled(h.name, metric.NewRecordConfig(opts).Attributes())
	h.m.values[name] = append(h.m.values[name], value)
}

// Conflicts, deliveries and latency are measured by stage, and nothing of what
// they are about is.
//
//spec:r-035
func TestRunsUnderTheGuardAreMeasuredByStage(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	m := &stageMeters{counts: map[string]int64{}, values: map[string][]float64{}}
	w := newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, &automation.Options{MeterProvider: m})
	w.guardCertificates(nil)
	w.to(certificatesPart, automation.StageScheduled)
	w.ensure(ofEmployees("123")...)
	w.setOwnership(employeeKey("2"), func(o *automation.OwnershipRow) { automation.GiveOwner(o, automation.OldScheduler) })
	w.setOwnership(employeeKey("3"), func(o *automation.OwnershipRow) { automation.MoveOwner(o, start, automation.OwnershipDeliveryCreated) })
	w.pollAt(whenDue.Add(time.Minute))
	w.to(certificatesPart, automation.StageShadow)
	if err := w.s.Support().Release(w.ctx, "", employeeKey("2"), ann); err != nil {
		t.Fatal(err)
	}
	w.poll()
	want := map[string]int64{"3 DeliveryCreated": 1, "3 Conflict": 1, "1 Shadow": 1}
	got := map[string]int64{}
	for name, n := range m.counts {
		if of, ok := strings.CutPrefix(name, "belfry.automation.rollout.runs: "); ok {
			got[of] = n
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]float64{"belfry.automation.rollout.latency: 3": {60}}, m.values); diff != "" {
		t.Error(diff)
	}
}

// labelled is an instrument with the values of its attributes for a stage.
func labelled(name string, of attribute.Set) string {
	name += ": "
	if stage, ok := of.Value("stage"); ok {
		name += fmt.Sprint(stage.AsInt64())
	}
	if outcome, ok := of.Value("outcome"); ok {
		name += " " + outcome.AsString()
	}
	return name
}
