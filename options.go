package belfry

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/belfry-go/belfry/internal/work"
)

// Options are a Poller's settings. Nil, and every zero value, is a good choice.
type Options struct {
	// Batch is how many rows one claim takes in Run; default 1000. PollOnce is
	// told its own.
	Batch int
	// Interval is the longest sleep between two polls of an idle pass; default
	// one second. A row that this process makes due, or whose moment is known,
	// is not waited for.
	Interval time.Duration
	// Lease is how long a claim lasts when its process says nothing more; default
	// one minute. Leases are renewed while handlers run, so this is how long a
	// crash delays a row, not how long a handler may take.
	Lease time.Duration
	// Concurrency is how many groups of rows of one kind (a reminder type, a channel,
	// a subscriber) in one lane each pass handles at once; default 8. A tenant with a
	// backlog, or whose calls hang, has as many of its own. In PollOnce all share them.
	Concurrency int
	// InFlight bounds the rows of one kind in one lane that each pass has claimed and not
	// yet settled, so that a kind that hangs holds up no other; default 4000, and never
	// less than Batch. Tenants with backlogs share twice as many.
	InFlight int
	// Grace is how long Run waits for handlers when its context ends; default 30
	// seconds. Then their contexts end too.
	Grace time.Duration
	// Lanes are the weights by which lanes share a claim; default urgent 8,
	// normal 4, bulk 1. Rows of a lane that is not listed are left to others.
	Lanes map[int16]int

	// Retention says for how long ended rows stay. It should be the same in every
	// process.
	Retention Retention
	// Privacy has the host's own data follow when a person is erased.
	Privacy PrivacyOptions

	// Logger gets warnings and errors, without payloads; default slog.Default().
	Logger *slog.Logger
	// MeterProvider and TracerProvider default to OpenTelemetry's global ones,
	// which do nothing until a host sets them.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	// Store names the database in metrics and logs, as their attribute store, and in Health,
	// where a process has pollers on several. Empty is none; in the gauges a number from 2
	// on for all but the first one that runs with the same MeterProvider.
	Store string
}

// forWork are the settings of each pass.
func (o Options) forWork() work.Options {
	return work.Options{
		Batch: o.Batch, Interval: o.Interval, Lease: o.Lease, Concurrency: o.Concurrency, InFlight: o.InFlight, Grace: o.Grace,
		Lanes: o.Lanes, Store: o.Store, Logger: o.Logger, MeterProvider: o.MeterProvider, TracerProvider: o.TracerProvider,
	}
}
