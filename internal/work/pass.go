package work

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// realClock paces what a mock clock must not stop: heartbeats, restarts, the
// coalescing of settles. It never says what is due.
var realClock = clock.New()

type pass[R, A any] struct {
	store storage.Store
	spec  Spec[R, A]
}

// New makes the pass that spec describes on a store.
func New[R, A any](store storage.Store, spec Spec[R, A]) Pass {
	if !spec.Table.Due {
		panic("work: rows of " + spec.Table.Name + " are never due: they embed no driver.Due")
	}
	if spec.Group == 0 {
		spec.Group = 50
	}
	return &pass[R, A]{store, spec}
}

func (p *pass[R, A]) Name() string { return p.spec.Name }

func (p *pass[R, A]) Runner(o Options) Runner {
	o = o.withDefaults()
	r := &runner[R, A]{
		store: p.store, spec: p.spec, o: o, mono: realClock,
		flights: newFlights(), tel: newTelemetry(p.spec.Name, o), liveness: newLiveness(p.spec.Name),
		all: &queue{of: everything, lanes: newLanes(o.Lanes)}, queues: []*queue{{of: shared, lanes: newLanes(o.Lanes)}},
	}
	return r
}

// runner is a pass in one poller. The store's clock says what is due; mono, a
// real clock, paces heartbeats and restarts, which a mock clock must not stop.
type runner[R, A any] struct {
	store storage.Store
	spec  Spec[R, A]
	o     Options
	mono  clock.Clock
	tel   *telemetry

	mu      sync.Mutex     // guards all and queues: one claim at a time
	all     *queue         // of single polls
	queues  []*queue       // of Run: the shared one, and those of kinds and tenants
	others  time.Time      // when a queue that is not one tenant's last had rows
	full    atomic.Bool    // a claim of the last turn was full
	besides sync.WaitGroup // looks from the head beside the turns
	asking  asking

	outage    outage
	liveness  *liveness
	flights   *flights
	overdue   overdue
	scratches sync.Pool // of *copies[R]
}

func (r *runner[R, A]) now() time.Time { return driver.Now(r.store) }

func (r *runner[R, A]) rec(row *R) *driver.Due { return r.spec.Table.DueOf(row) }

// Options are a poller's settings. The root package documents them for hosts.
type Options struct {
	Batch       int
	Interval    time.Duration
	Lease       time.Duration
	Concurrency int
	InFlight    int
	Grace       time.Duration
	Lanes       map[int16]int

	Logger         *slog.Logger
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
}

func (o Options) withDefaults() Options {
	o.Batch = cmp.Or(o.Batch, 1000)
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.Lease = cmp.Or(o.Lease, time.Minute)
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	o.InFlight = max(cmp.Or(o.InFlight, 4000), o.Batch)
	o.Grace = cmp.Or(o.Grace, 30*time.Second)
	if len(o.Lanes) == 0 {
		o.Lanes = map[int16]int{storage.LaneUrgent: 8, storage.LaneNormal: 4, storage.LaneBulk: 1}
	}
	o.Logger = loglimit.Limited(o.Logger)
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	return o
}

// Start commits held rows before their outside calls begin (a message's call-started
// write): one batched write, fenced by the version, that renews the lease until then. It
// tells which rows are ours to go on with; a row that was written meanwhile is not, and
// none is after an error.
func Start[R any](ctx context.Context, store storage.Store, t *driver.Table[R], until time.Time, rows []*R) ([]bool, error) {
	return StartIf(ctx, store, t, until, rows, nil)
}

// StartIf is Start but for the rows that bar names: it is asked inside the transaction
// about those that are ours, and answers for each whether it stays as it was; nil: none
// does. It may write, and is asked again about fewer. Nil: nothing is barred.
func StartIf[R any](ctx context.Context, store storage.Store, t *driver.Table[R], until time.Time, rows []*R, bar StartCheck[R]) ([]bool, error) {
	started, left := make([]bool, len(rows)), make([]int, len(rows))
	for i := range rows {
		left[i] = i
	}
	for len(left) > 0 {
		some := make([]*R, len(left))
		for k, i := range left {
			some[k] = rows[i]
		}
		ours, barred, err := start(ctx, store, t, until, some, bar)
		if barred == nil {
			for k, i := range left {
				started[i] = ours[k]
			}
			return started, err
		}
		left = slices.DeleteFunc(left, func(i int) bool { return barred[rows[i]] })
	}
	return started, nil
}

// StartCheck says of rows whose calls are about to begin which of them do not.
type StartCheck[R any] func(ctx context.Context, tx storage.Tx, rows []*R) (barred []bool, err error)

// errBarred rolls a start back of which some rows are to be left out.
var errBarred = errors.New("work: not all of the rows may start")

// start writes the rows, or none of them where some are barred.
func start[R any](ctx context.Context, store storage.Store, t *driver.Table[R], until time.Time, rows []*R, bar StartCheck[R]) (started []bool, barred map[*R]bool, err error) {
	before := make([]int64, len(rows))
	for i, row := range rows {
		before[i] = t.Record(row).Version
		t.DueOf(row).LeaseExpiresOn = driver.Time(until)
	}
	started = make([]bool, len(rows))
	err = store.InTx(ctx, func(tx storage.Tx) error {
		barred = nil
		for i, row := range rows {
			t.Record(row).Version, started[i] = before[i], true
		}
		err := t.Settle(ctx, tx, rows...)
		if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
			for _, i := range stale.Rows {
				started[i] = false
			}
			err = nil
		}
		if err == nil && bar != nil {
			barred, err = asked(ctx, tx, rows, started, bar)
		}
		return err
	})
	if errors.Is(err, storage.ErrOutcomeUnknown) {
		started, err = committed(ctx, store, t, before, rows)
		return started, nil, err
	}
	if err == nil {
		return started, nil, nil
	}
	for i, row := range rows {
		t.Record(row).Version = before[i]
	}
	if !errors.Is(err, errBarred) {
		barred = nil
	}
	return make([]bool, len(rows)), barred, err
}

// asked asks about the rows that are ours.
func asked[R any](ctx context.Context, tx storage.Tx, rows []*R, ours []bool, bar StartCheck[R]) (map[*R]bool, error) {
	var about []*R
	for i, row := range rows {
		if ours[i] {
			about = append(about, row)
		}
	}
	answers, err := bar(ctx, tx, about)
	if err != nil {
		return nil, err
	}
	var barred map[*R]bool
	for i, no := range answers {
		if no {
			if barred == nil {
				barred = map[*R]bool{}
			}
			barred[about[i]] = true
		}
	}
	if barred != nil {
		err = errBarred
	}
	return barred, err
}

// committed reads back which of the rows have the version that one write of ours
// gives, under our claim.
func committed[R any](ctx context.Context, store storage.Store, t *driver.Table[R], before []int64, rows []*R) ([]bool, error) {
	var stored map[int64]*R
	err := store.InTx(ctx, func(tx storage.Tx) (err error) {
		stored, err = load(ctx, tx, t, rows)
		return err
	})
	ok := make([]bool, len(rows))
	for i, row := range rows {
		rec := t.DueOf(row)
		rec.Version = before[i]
		if s := stored[rec.ID]; err == nil && s != nil && t.DueOf(s).ClaimToken == rec.ClaimToken && t.Record(s).Version == before[i]+1 {
			rec.Version, ok[i] = before[i]+1, true
		}
	}
	return ok, err
}

// load reads rows again by id. The ids come from rows that this process holds,
// so the look-up goes across scopes.
func load[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], rows []*R) (map[int64]*R, error) {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = t.Record(row).ID
	}
	found, err := t.Everywhere().Find(ctx, tx, driver.Query{Where: []driver.Cond{driver.In("id", ids)}, Limit: len(ids)})
	if err != nil {
		return nil, err
	}
	stored := make(map[int64]*R, len(found))
	for _, row := range found {
		stored[t.Record(row).ID] = row
	}
	return stored, nil
}
