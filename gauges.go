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
	// gaugesTime bounds what one collection asks of the database, and gaugesEvery is
	// for how long its answer is good: several readers ask no more than one.
	gaugesTime  = 3 * time.Second
	gaugesEvery = 10 * time.Second
)

// realClock says how old an answer is, whatever a mock clock shows.
var realClock = clock.New()

// gauges show Poller.Health, everywhere, whenever metrics are collected. Attributes are
// names of stores, tables and kinds, reasons and lanes, never data.
type gauges struct {
	poller   *Poller
	provider metric.MeterProvider
	number   int // of the store among those of the provider, from 1

	age                                         metric.Float64ObservableGauge
	due, holds, doubts, dead, paused, out, lost metric.Int64ObservableGauge
	forgotten                                   metric.Int64ObservableGauge
	failed                                      metric.Int64Counter

	mu   sync.Mutex // held by the one who asks
	last health.Summary
	on   time.Time // of last; zero: never yet
}

// observe has gauges observed until stop.
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
		panic(err) // all instruments are this meter's
	}
	return func() {
		_ = registration.Unregister()
		g.leave()
	}
}

// observed are the gauges of this process that are collected now.
var observed struct {
	mu  sync.Mutex
	all []*gauges
}

// enter finds the number of the store: with the same attributes the gauges of two would
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

// with are attributes, and that of the store if it has one.
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
		doubts: count("belfry.doubts", "Sends in doubt."),
		dead:   count("belfry.dead.letters", "Events that a subscriber was not able to take."),
		paused: count("belfry.paused", "Pauses in force."),
		out:    count("belfry.channels.out", "Channels that take nothing."),
		lost:   count("belfry.series.lost", "Series without a next row, at most 100."),

		forgotten: count("belfry.forgotten", "1 while the database is known to have forgotten commits."),
	}
}

// collect observes the last answer, which it asks for anew if that is old. It waits for
// nobody else who asks, and no longer than gaugesTime: rather nothing is observed.
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
			return nil // the passes log it, and the SDK would once more
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

// tally counts what is listed one by one.
type tally map[health.Count]int

func (t tally) add(table, kind string) { t[health.Count{Table: table, Kind: kind}]++ }

func (t tally) counts() (out []health.Count) {
	for c, n := range t {
		c.Rows = n
		out = append(out, c)
	}
	return out
}
