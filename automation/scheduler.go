package automation

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/wiring"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Scheduler keeps due work and hands it to delivery. Its methods may be called
// from any number of goroutines; any number of schedulers, in any number of
// processes, may work on one store.
type Scheduler struct{ *core }

// core is what the parts of a scheduler share. Each part is a value over it, with
// the methods of one subject.
type core struct {
	store    storage.Store
	tx       storage.Tx // set in a bound copy
	out      notify.DeliveryDispatcher
	opts     Options
	registry *registry
	tel      *telemetry
	epochs   *knownEpochs
}

// The parts of a scheduler.
type (
	planner struct{ *core } // says what rows a wish stands for
	ensurer struct {        // writes what was planned
		*core
		source *sourceState // whose row the transaction has taken, if it has one
	}
	recurrer  struct{ *core } // moves series on
	worker    struct{ *core } // handles what is due
	keeper    struct{ *core } // reconciles, and deletes old rows
	explainer struct{ *core } // says why
)

func (s *core) planner() planner     { return planner{s} }
func (s *core) ensurer() ensurer     { return ensurer{core: s} }
func (s *core) recurrer() recurrer   { return recurrer{s} }
func (s *core) worker() worker       { return worker{s} }
func (s *core) keeper() keeper       { return keeper{s} }
func (s *core) explainer() explainer { return explainer{s} }

// Support is what a support desk does with due work: look at it, and act on it by
// audited actions. Its methods may be called from any number of goroutines.
type Support struct{ *core }

// Support gives the actions of a support desk. Those of a bound copy belong to
// its transaction.
func (s *Scheduler) Support() Support { return Support{s.core} }

// Rollout moves due work from an old scheduler to this one, part by part, so that
// no run is done twice (see docs/migrating.md). Its methods may be called from any
// number of goroutines.
type Rollout struct{ *core }

func (s *core) rollout() Rollout { return Rollout{s} }

// Rollout gives the move from an old scheduler.
func (s *Scheduler) Rollout() Rollout { return Rollout{s.core} }

// Maintenance repairs and deletes what pollers otherwise repair and delete by
// themselves. Its methods may be called from any number of goroutines.
type Maintenance struct{ *core }

// Maintenance gives repair and deletion on demand.
func (s *Scheduler) Maintenance() Maintenance { return Maintenance{s.core} }

// New returns a scheduler on store whose notifications go to out, usually a
// *notify.Notifier on the same store. opts may be nil. It panics if store or out
// is.
func New(store storage.Store, out notify.DeliveryDispatcher, opts *Options) *Scheduler {
	if store == nil || out == nil {
		panic("automation: New needs a store and a dispatcher")
	}
	o := opts.withDefaults()
	return &Scheduler{&core{store: store, out: out, opts: o, registry: newRegistry(), tel: newTelemetry(o), epochs: &knownEpochs{}}}
}

// WithTx returns a copy of s whose Ensure, HandleEvent, Explain and support
// actions belong to tx, a transaction of the same store: they commit or vanish
// with it. Types that s registers are the copy's as well. It panics on a
// transaction of another store.
//
// In a joined transaction of the host a [*notify.ConflictError] leaves the
// transaction usable, and any other error means that it has to be rolled back.
func (s *Scheduler) WithTx(tx storage.Tx) *Scheduler {
	if tx == nil || !driver.Same(tx.Store(), s.store) {
		panic("automation: WithTx needs a transaction of the scheduler's own store")
	}
	return s.bound(tx)
}

// bound is a scheduler that shares all with s but the transaction.
func (s *core) bound(tx storage.Tx) *Scheduler {
	b := *s
	b.tx = tx
	return &Scheduler{&b}
}

// InHostTx runs f with a copy of s that is bound to a transaction: the one that s is
// bound to, or one of its own, which commits if f returns nil. f may run again.
func (s *Scheduler) InHostTx(ctx context.Context, f func(bound *Scheduler, tx storage.Tx) error) error {
	return s.inTx(ctx, func(tx storage.Tx) error {
		return f(s.bound(tx), tx)
	})
}

// inTx runs f in the bound transaction, or in one of its own. f may run again.
func (s *core) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	return s.store.InTx(ctx, f)
}

// read runs f in the bound transaction, else over the committed rows of one moment,
// for which it waits for no writer. f may run again.
func (s *core) read(ctx context.Context, f func(driver.Reader) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	return s.store.View(ctx, f)
}

func (s *core) now() time.Time { return driver.Now(s.store) }

// Passes is what a Poller runs: the one that puts on hold what no process can claim, the
// pass over due rows of the types that are registered here, the same for runs of reports,
// and the one that reconciles the types with a [Scan]. The last two rest while there is
// nothing for them.
func (s *Scheduler) Passes() []work.Pass {
	return []work.Pass{s.worker().unservedPass(), s.worker().duePass(), reportPass{s.core}, reconcilePass{s.core}}
}

// SweepRules say what is deleted with its age, and of people, in the tables of this package
// and in those of settings and reports, for a poller.
func (s *Scheduler) SweepRules() []sweep.Rules {
	own := []sweep.Rules{{Domain: "automation", Old: []sweep.Rule{s.keeper().forgetRows()}, People: s.keeper().erasures()}}
	return slices.Concat(own, sweep.RulesOf(s.opts.Settings), s.registry.rulesOfReports())
}

// Wiring tells a Poller what the scheduler hands its work to: reminders and reports go out
// through its dispatcher.
func (s *Scheduler) Wiring() wiring.Service {
	own := wiring.Service{Name: "automation.Scheduler", Self: s.registry, Store: s.store, Parts: wiring.Of(s.opts.Settings)}
	if s.registry.delivers() {
		own.Needs = wiring.Of(s.out)
	}
	return own
}

// States gives the state machines of this package, for the documentation.
func States() []states.Machine { return []states.Machine{machine, ownershipMachine} }

// Schemas lists the tables of this package, so that adapters' tests can compare
// them with a live database.
func Schemas() []*driver.Schema {
	return append([]*driver.Schema{
		&schedules.Schema, &sources.Schema, &seriesTable.Schema, &thresholdStates.Schema, &pauses.Schema,
		&reconciliations.Schema, &ownerships.Schema, &rollouts.Schema,
	}, audit.Schemas()...)
}

// Options are a scheduler's settings; every zero value is useful.
type Options struct {
	// Settings loads reminder settings. Nil: every registered type is its own
	// active setting.
	Settings SettingsSource
	// Zone gives the IANA zone of a business unit, for candidates that name none.
	// An empty answer leaves it to the type. It may be called from several
	// goroutines. See [TxOf] if it asks the scheduler's own store.
	Zone func(ctx context.Context, scope Scope, businessUnit string) (string, error)

	// Traces says whether the due pass keeps a trace of every row that it handles,
	// for support; nil: none.
	Traces *Traces

	// UnclaimedAfter is how long due work waits for a process that has registered its
	// type, while processes without it look on; default 1 h. Then it is on hold for
	// [reasons.Unserved], and goes on when such a process is there.
	UnclaimedAfter time.Duration

	Logger        *slog.Logger         // gets warnings and errors; default slog.Default()
	MeterProvider metric.MeterProvider // gets the metrics; default the global one
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	out.UnclaimedAfter = cmp.Or(max(out.UnclaimedAfter, 0), time.Hour)
	out.Logger = loglimit.Limited(out.Logger)
	if out.MeterProvider == nil {
		out.MeterProvider = otel.GetMeterProvider()
	}
	return out
}

// txKey is where a context carries the transaction of [TxOf].
type txKey struct{}

// TxOf returns the transaction inside which a provider, a [SettingsSource],
// [Options].Zone or [ReminderType].BusinessDay is asked, and false outside of
// one. They are asked inside one for an event without a Version, and by a
// scheduler that is bound to one. A provider with data in the scheduler's own
// store has to read through it then: a second transaction would wait for the
// first on a store with one writer, and would not see what the host has changed
// in it. It is over when the call returns.
func TxOf(ctx context.Context) (storage.Tx, bool) {
	tx, ok := ctx.Value(txKey{}).(storage.Tx)
	return tx, ok
}

// within makes tx known to the host's code that is called with the context; nil
// leaves the context as it is.
func within(ctx context.Context, tx storage.Tx) context.Context {
	if tx == nil {
		return ctx
	}
	return context.WithValue(ctx, txKey{}, tx)
}

// settled follows up on rows that the due pass has written, in the transaction
// that wrote them, whatever became of them.
func (s worker) settled(ctx context.Context, tx storage.Tx, rows []*scheduleRow) error {
	for _, follow := range []func(context.Context, storage.Tx, []*scheduleRow) error{
		s.tellSettled, s.recurrer().followRecurring, s.endOvertaken,
	} {
		if err := follow(ctx, tx, rows); err != nil {
			return err
		}
	}
	return nil
}

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
	t.changed(ctx, r)
}

func (t *telemetry) changed(ctx context.Context, r EventResult) {
	ended := map[string]int64{}
	for _, d := range r.Deactivated {
		ended[countedAs(d.Reason)]++
	}
	add(ctx, t.ended, "reason", ended)
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

// countedAs is the reason if it is one that this package gives, and otherwise "Host":
// what a host writes there may be data, and of any number of values.
func countedAs(r Reason) string {
	switch r {
	case reasons.Superseded, reasons.ThresholdNoLongerMet, reasons.Invalidated, reasons.SourceNoLongerValid, reasons.ReminderSettingInactive, reasons.InputChanged, reasons.TooLate, reasons.Overtaken:
		return r
	}
	return "Host"
}

func add(ctx context.Context, c metric.Int64Counter, name string, counts map[string]int64) {
	for value, n := range counts {
		c.Add(ctx, n, metric.WithAttributes(attribute.String(name, value)))
	}
}
