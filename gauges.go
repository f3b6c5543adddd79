package belfry

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	scopeName = "github.com/belfry-go/belfry"
	// gaugesTime is the timeout of one collection's query. Its answer is used for
	// gaugesEvery, so several readers cause one query.
	gaugesTime  = 3 * time.Second
	gaugesEvery = 10 * time.Second
)

// realClock measures the age of an answer, even under a mock clock.
var realClock = clock.New()

// gauges reports Poller.Health for all tenants whenever metrics are collected. Attributes
// are names of stores, tables and kinds, reasons and lanes, never data.
type gauges struct {
	poller   *Poller
	provider metric.MeterProvider
	number   int // of the store among the stores of the MeterProvider, from 1

	age                                         metric.Float64ObservableGauge
	due, holds, doubts, dead, paused, out, lost metric.Int64ObservableGauge
	forgotten                                   metric.Int64ObservableGauge
	failed                                      metric.Int64Counter

	mu   sync.Mutex // held during a query
	last health.Summary
	on   time.Time // of last; zero: never yet
}

// observe registers the gauges until stop is called.
func (p *Poller) observe() (stop func()) {
	provider := p.options.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	m := provider.Meter(scopeName)
	g := newGauges(p, m)
	g.provider = provider
	g.enter()
	registration, err := m.RegisterCallback(g.collect, g.age, g.due, g.holds, g.doubts, g.dead, g.paused, g.out, g.lost, g.forgotten)
	if err != nil {
		panic(err) // all instruments belong to this meter
	}
	return func() {
		_ = registration.Unregister()
		g.leave()
	}
}

// observed holds the registered gauges of this process.
var observed struct {
	mu  sync.Mutex
	all []*gauges
}

// enter assigns the number of the store. Without it the gauges of two stores would
// overwrite each other.
func (g *gauges) enter() {
	observed.mu.Lock()
	defer observed.mu.Unlock()
	taken := map[int]bool{}
	for _, other := range observed.all {
		switch {
		case !reflect.ValueOf(g.provider).Comparable() || other.provider != g.provider:
		case driver.Same(other.poller.store, g.poller.store):
			g.number = other.number
		default:
			taken[other.number] = true
		}
	}
	for n := 1; g.number == 0; n++ {
		if !taken[n] {
			g.number = n
		}
	}
	observed.all = append(observed.all, g)
}

func (g *gauges) leave() {
	observed.mu.Lock()
	defer observed.mu.Unlock()
	observed.all = slices.DeleteFunc(observed.all, func(other *gauges) bool { return other == g })
}

// with adds the store's attribute, if it has one, to attributes.
func (g *gauges) with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	name := g.poller.options.Store
	if name == "" && g.number > 1 {
		name = strconv.Itoa(g.number)
	}
	if name != "" {
		attributes = append(attributes, attribute.String("store", name))
	}
	return metric.WithAttributes(attributes...)
}

func newGauges(p *Poller, m metric.Meter) *gauges {
	count := func(name, about string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithDescription(about))
		if err != nil {
			panic(err) // the names are constants
		}
		return g
	}
	age, err := m.Float64ObservableGauge("belfry.due.age", metric.WithUnit("s"), metric.WithDescription("How long the oldest due row has waited."))
	if err != nil {
		panic(err)
	}
	failed, err := m.Int64Counter("belfry.gauges.failed", metric.WithDescription("Collections for which the database did not answer."))
	if err != nil {
		panic(err)
	}
	return &gauges{
		poller: p, age: age, failed: failed,
		due:    count("belfry.due.rows", "Due rows that wait for a worker, at most 10000 of a lane."),
		holds:  count("belfry.holds", "Rows on support hold, at most 10000 for a reason."),
		doubts: count("belfry.doubts", "Sends whose outcome is unknown."),
		dead:   count("belfry.dead.letters", "Dead letters: events that a subscriber did not accept."),
		paused: count("belfry.paused", "Pauses in force."),
		out:    count("belfry.channels.out", "Channels that have stopped."),
		lost:   count("belfry.series.lost", "Series without a next row, at most 100."),

		forgotten: count("belfry.forgotten", "1 while the database is known to have forgotten commits."),
	}
}

// collect reports the last answer, and queries again if that is old. It does not wait for
// a concurrent query, and waits at most gaugesTime for its own; otherwise it reports
// nothing.
func (g *gauges) collect(ctx context.Context, o metric.Observer) error {
	if !g.mu.TryLock() {
		return nil
	}
	defer g.mu.Unlock()
	if g.on.IsZero() || realClock.Since(g.on) >= gaugesEvery {
		asking, cancel := context.WithTimeout(ctx, gaugesTime)
		defer cancel()
		got, err := g.poller.Health(asking, storage.Everywhere())
		if err != nil {
			g.failed.Add(ctx, 1)
			return nil // the passes log it already
		}
		g.last, g.on = got, realClock.Now()
	}
	g.show(o)
	return nil
}

func (g *gauges) show(o metric.Observer) {
	for _, d := range g.last.Due {
		of := g.with(attribute.String("table", d.Table), attribute.String("kind", d.Kind), attribute.Int("lane", int(d.Lane)))
		o.ObserveInt64(g.due, int64(d.Rows), of)
		if !d.OldestOn.IsZero() {
			o.ObserveFloat64(g.age, g.last.On.Sub(d.OldestOn).Seconds(), of)
		}
	}
	if !g.last.Forgotten.NoticedOn.IsZero() {
		o.ObserveInt64(g.forgotten, 1, g.with())
	}
	pauses, out, lost := tally{}, tally{}, tally{}
	for _, p := range g.last.Pauses {
		pauses.add(p.Table, p.Kind)
	}
	for _, o := range g.last.Outages {
		out.add("channel_outage", o.Channel)
	}
	for _, l := range g.last.Lost {
		lost.add("automation_series", l.Kind)
	}
	g.observe(o, g.holds, g.last.Holds)
	g.observe(o, g.doubts, g.last.Doubts)
	g.observe(o, g.dead, g.last.DeadLetters)
	g.observe(o, g.paused, pauses.counts())
	g.observe(o, g.out, out.counts())
	g.observe(o, g.lost, lost.counts())
}

func (g *gauges) observe(o metric.Observer, of metric.Int64Observable, counts []health.Count) {
	for _, c := range counts {
		what := attribute.String("kind", c.Kind)
		if c.Reason != "" {
			what = attribute.String("reason", c.Reason)
		}
		o.ObserveInt64(of, int64(c.Rows), g.with(attribute.String("table", c.Table), what))
	}
}

// tally counts items that are listed one by one.
type tally map[health.Count]int

func (t tally) add(table, kind string) { t[health.Count{Table: table, Kind: kind}]++ }

func (t tally) counts() (out []health.Count) {
	for c, n := range t {
		c.Rows = n
		out = append(out, c)
	}
	return out
}
