package automation

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/storage"
)

// Processors is the registry of those who hear of the host's events: several for
// one event, in a declared order, none of whom can spoil it for the others. Its
// methods may be called from any number of goroutines.
type Processors struct {
	all     *processorList // shared by bound copies
	tx      storage.Tx     // set in a bound copy
	logger  *slog.Logger
	outcome metric.Int64Counter
}

type processorList struct {
	mu   sync.RWMutex
	list []Processor // in order; replaced, never changed
}

// ProcessorsOptions are the settings of [Processors]; every zero value is useful.
type ProcessorsOptions struct {
	Logger        *slog.Logger         // default slog.Default()
	MeterProvider metric.MeterProvider // default: the global one
}

// NewProcessors returns an empty registry. opts may be nil.
func NewProcessors(opts *ProcessorsOptions) *Processors {
	var o ProcessorsOptions
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	c, err := o.MeterProvider.Meter("github.com/belfry-go/belfry").Int64Counter("belfry.automation.processed",
		metric.WithDescription("Events handled by post-processors, by processor and outcome."))
	if err != nil {
		panic(err) // the name is a constant
	}
	return &Processors{all: &processorList{}, logger: o.Logger, outcome: c}
}

// Register adds processors. It panics on what only a programmer can get wrong:
// no name or one that is taken, no handler.
func (p *Processors) Register(add ...Processor) {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	list := slices.Clone(p.all.list)
	for _, one := range add {
		if err := one.check(); err != nil {
			panic(fmt.Sprintf("automation: Processors.Register(%q): %v", one.Name, err))
		}
		if slices.ContainsFunc(list, func(other Processor) bool { return other.Name == one.Name }) {
			panic(fmt.Sprintf("automation: Processors.Register(%q): the name is registered already", one.Name))
		}
		one.EventTypes = slices.Clone(one.EventTypes)
		list = append(list, one)
	}
	slices.SortFunc(list, inOrder)
	p.all.list = list
}

// WithTx returns a copy of p whose Process works inside tx, a transaction of the
// host, through processors that are a [TxEventHandler].
func (p *Processors) WithTx(tx storage.Tx) *Processors {
	if tx == nil {
		panic("automation: Processors.WithTx needs a transaction")
	}
	bound := *p
	bound.tx = tx
	return &bound
}

// listening are the processors of an event type, in order.
func (p *Processors) listening(eventType string) []Processor {
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
