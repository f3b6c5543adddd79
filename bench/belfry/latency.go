package belfry

import (
	"context"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/contender"
)

// stamped is the automation type of rows whose source is the moment, in Unix
// nanoseconds, at which their insertion began.
const stamped = "stamped"

// send inserts rows that are due at once, one at a time.
func send(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer store.Close()
	s := scheduler(store, nothing)
	began, err := run.Go(ctx)
	if err != nil {
		return contender.Result{}, err
	}
	err = contender.Paced(ctx, t.Rows, func(now time.Time) error {
		_, err := s.Ensure(ctx, automation.Candidate{
			AutomationType: stamped, Lane: t.Lane, ScheduledOn: now,
			Source: automation.Source{Type: "moment", ID: strconv.FormatInt(now.UnixNano(), 10)},
		})
		return err
	})
	return contender.Between(t.Rows, began, contender.Clock.Now()), err
}

// receive handles what send inserts, and notes how long each row took to come
// here. Rows of kind are handled beside it.
func receive(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer store.Close()
	var waits waits
	s := scheduler(store, nothing)
	s.Handle(automation.WorkType{Name: stamped, Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		run.Done(len(due))
		return make([]automation.Outcome, len(due)), waits.add(due)
	})})
	p := belfry.NewPoller(store, options(t), s)
	began, err := poll(ctx, run, p)
	if err != nil {
		return contender.Result{}, err
	}
	result := contender.Between(t.Rows, began, contender.Clock.Now())
	result.Values = contender.Waits(waits.ms)
	return result, nil
}

type waits struct {
	mu sync.Mutex
	ms []float64
}

func (w *waits) add(due []automation.Due) error {
	now := contender.Clock.Now().UnixNano()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range due {
		began, err := strconv.ParseInt(d.Source.ID, 10, 64)
		if err != nil {
			return err
		}
		w.ms = append(w.ms, float64(now-began)/1e6)
	}
	return nil
}

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
