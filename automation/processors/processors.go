// Package processors tells one event of the host to several listeners, such as a
// [automation.Scheduler] and a search index: in a declared order, and one that fails
// does not stop the rest. A host with one listener calls HandleEvent itself.
package processors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// EventHandler is what a host's event pipeline calls after the host's own change
// (Automation & Reminders, "Provider contracts"). *[automation.Scheduler] is one.
type EventHandler interface {
	HandleEvent(ctx context.Context, e automation.Event) (automation.EventResult, error)
}

// EventHandlerFunc is an EventHandler made of a function.
type EventHandlerFunc func(ctx context.Context, e automation.Event) (automation.EventResult, error)

// HandleEvent calls f.
func (f EventHandlerFunc) HandleEvent(ctx context.Context, e automation.Event) (automation.EventResult, error) {
	return f(ctx, e)
}

// Processor is one of several that hear of the host's events after the host's
// own change (Automation & Reminders, "Provider contracts": the post-processor
// seam with its own registry).
type Processor struct {
	// Name is required and unique among the processors of one registry. It stands
	// in errors, logs and metrics, so it is a word of the program and no data.
	Name string
	// Order says who comes first: the lowest, and by name among equals.
	Order int
	// EventTypes are the events that it hears of; none means all.
	EventTypes []string
	// Handler is required. A *[automation.Scheduler] is one. It may be called from several
	// goroutines, and again for the same event.
	Handler EventHandler
}

// TxEventHandler is an [EventHandler] that can work inside a transaction of the
// host, which [Registry.WithTx] needs of a handler that is no *[automation.Scheduler].
type TxEventHandler interface {
	EventHandler
	// BindEvents returns the handler bound to tx: what it writes commits or
	// vanishes with it.
	BindEvents(tx storage.Tx) EventHandler
}

func (p *Processor) check() error {
	switch {
	case p.Name == "":
		return errors.New("a processor without a Name")
	case p.Handler == nil:
		return errors.New("it has no Handler")
	}
	return nil
}

func (p *Processor) hears(eventType string) bool {
	return len(p.EventTypes) == 0 || slices.Contains(p.EventTypes, eventType)
}

func inOrder(a, b Processor) int {
	return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
}

// Registry is the list of those who hear of the host's events: several for
// one event, in a declared order, none of whom can spoil it for the others. Its
// methods may be called from any number of goroutines.
type Registry struct {
	all     *list      // shared by bound copies
	tx      storage.Tx // set in a bound copy
	logger  *slog.Logger
	outcome metric.Int64Counter
}

type list struct {
	mu   sync.RWMutex
	list []Processor // in order; replaced, never changed
}

// Options are the settings of a [Registry]; every zero value is useful.
type Options struct {
	Logger        *slog.Logger         // gets warnings and errors; default slog.Default()
	MeterProvider metric.MeterProvider // gets the metrics; default the global one
}

// New returns an empty registry. opts may be nil.
func New(opts *Options) *Registry {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Logger = loglimit.Limited(o.Logger)
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	c, err := o.MeterProvider.Meter("github.com/belfry-go/belfry").Int64Counter("belfry.automation.processed",
		metric.WithDescription("Events handled by post-processors, by processor and outcome."))
	if err != nil {
		panic(err) // the name is a constant
	}
	return &Registry{all: &list{}, logger: o.Logger, outcome: c}
}

// Register adds processors. It panics on what only a programmer can get wrong:
// no name or one that is taken, no handler.
func (p *Registry) Register(add ...Processor) {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	list := slices.Clone(p.all.list)
	for _, one := range add {
		if err := one.check(); err != nil {
			panic(fmt.Sprintf("processors: Register(%q): %v", one.Name, err))
		}
		if slices.ContainsFunc(list, func(other Processor) bool { return other.Name == one.Name }) {
			panic(fmt.Sprintf("processors: Register(%q): the name is registered already", one.Name))
		}
		one.EventTypes = slices.Clone(one.EventTypes)
		list = append(list, one)
	}
	slices.SortFunc(list, inOrder)
	p.all.list = list
}

// WithTx returns a copy of p whose Process works inside tx, a transaction of the
// host, through processors that are a *[automation.Scheduler] or a [TxEventHandler].
func (p *Registry) WithTx(tx storage.Tx) *Registry {
	if tx == nil {
		panic("processors: WithTx needs a transaction")
	}
	bound := *p
	bound.tx = tx
	return &bound
}

// listening are the processors of an event type, in order.
func (p *Registry) listening(eventType string) []Processor {
	p.all.mu.RLock()
	defer p.all.mu.RUnlock()
	var out []Processor
	for _, one := range p.all.list {
		if one.hears(eventType) {
			out = append(out, one)
		}
	}
	return out
}

// Processed is what one processor made of an event.
type Processed struct {
	Name   string
	Result automation.EventResult
	// Err is nil, what the processor failed with, conflicts beside a complete
	// Result (as by [automation.Scheduler.HandleEvent]), or an [ErrNotProcessed].
	Err error
}

// ErrNotProcessed says that a processor was not asked: the context had ended, or
// one before it failed inside the host's transaction.
var ErrNotProcessed = errors.New("automation: the processor was not asked")

// Process tells an event to everybody who listens, one after the other in their
// order, and returns an answer of each. One that fails or panics does not keep
// it from the others; what it missed, a repeat of the event or the
// reconciliation of its types repairs. A context that ends stops before the next
// one. The error joins those of the answers and names their processors; a
// conflict counts as one.
//
// Call it after the host's own change has committed. Bound by
// [Registry.WithTx] to the transaction of that change, it is all or nothing
// instead: a failed processor may have written a part of its work, so the others
// are not asked any more, and the host has to roll back (conflicts apart, which
// leave the transaction usable). A host whose change must not be lost to a
// processor's failure commits first.
func (p *Registry) Process(ctx context.Context, e automation.Event) ([]Processed, error) {
	asked := p.listening(e.Type)
	handlers, err := p.handlers(asked)
	if err != nil {
		return nil, err
	}
	out := make([]Processed, len(asked))
	var all []error
	spoilt := false
	for i, one := range asked {
		out[i].Name = one.Name
		switch {
		case ctx.Err() != nil:
			out[i].Err = fmt.Errorf("%w: %w", ErrNotProcessed, context.Cause(ctx))
		case spoilt:
			out[i].Err = ErrNotProcessed
		default:
			out[i].Result, out[i].Err = ask(ctx, handlers[i], e)
			spoilt = p.tx != nil && out[i].Err != nil && !isConflict(out[i].Err)
		}
		p.note(ctx, e, out[i])
		if out[i].Err != nil {
			all = append(all, fmt.Errorf("automation: processor %s: %w", one.Name, out[i].Err))
		}
	}
	return out, errors.Join(all...)
}

// handlers binds the handlers to the transaction, if there is one. None is
// called if one of them cannot be bound.
func (p *Registry) handlers(asked []Processor) ([]EventHandler, error) {
	out := make([]EventHandler, len(asked))
	for i, one := range asked {
		if out[i] = one.Handler; p.tx == nil {
			continue
		}
		switch h := one.Handler.(type) {
		case *automation.Scheduler:
			out[i] = h.WithTx(p.tx)
		case TxEventHandler:
			out[i] = h.BindEvents(p.tx)
		default:
			return nil, fmt.Errorf("automation: processor %s cannot work inside a transaction: its %T is not a TxEventHandler", one.Name, one.Handler)
		}
	}
	return out, nil
}

func ask(ctx context.Context, h EventHandler, e automation.Event) (result automation.EventResult, err error) {
	err = work.Guard(func() (err error) {
		result, err = h.HandleEvent(ctx, e)
		return err
	})
	if errors.Is(err, automation.ErrStaleEvent) { // it is processed; repeating it changes nothing
		err = nil
	}
	return result, err
}

// isConflict reports whether all that went wrong are conflicts, which are
// answers and no failures.
func isConflict(err error) bool {
	switch e := err.(type) {
	case *notify.ConflictError:
		return true
	case interface{ Unwrap() error }:
		return isConflict(e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(part error) bool { return !isConflict(part) })
	}
	return false
}

// note counts the answer and logs a failure. An error's text may hold personal
// data, so it stays with the caller.
func (p *Registry) note(ctx context.Context, e automation.Event, one Processed) {
	outcome := processedAs(one)
	p.outcome.Add(ctx, 1, metric.WithAttributes(attribute.String("processor", one.Name), attribute.String("outcome", outcome)))
	level := slog.LevelWarn
	if outcome == "Panicked" {
		level, ctx = slog.LevelError, loglimit.Panics(ctx)
	}
	if one.Err != nil {
		p.logger.Log(ctx, level, "belfry: event processor", "processor", one.Name, "event", e.Type, "outcome", outcome)
	}
}

func processedAs(one Processed) string {
	var panicked *work.PanicError
	switch {
	case one.Err == nil:
		return word(one.Result.Outcome)
	case errors.Is(one.Err, ErrNotProcessed):
		return "NotProcessed"
	case errors.As(one.Err, &panicked):
		return "Panicked"
	case isConflict(one.Err):
		return "Conflict"
	}
	return "Failed"
}

// word is the outcome if it is one that this package gives: a handler of the
// host may write anything there.
func word(o automation.EventOutcome) string {
	switch o {
	case automation.EventApplied, automation.EventStale, automation.EventIgnored:
		return string(o)
	}
	return "Done"
}
