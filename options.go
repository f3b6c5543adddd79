package belfry

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/belfry-go/belfry/internal/work"
)

// Options are a Poller's settings. Nil and all zero values mean the defaults.
type Options struct {
	// Batch is how many rows one claim takes in Run; default 1000. PollOnce has a parameter
	// for it.
	Batch int
	// Interval is the longest sleep between two polls of an idle pass; default one second.
	// Rows that this process makes due, or whose due time it knows, do not wait for it.
	Interval time.Duration
	// Lease is how long a claim lasts without renewal; default one minute. Leases are
	// renewed while handlers run, so it is how long a crash delays a row, not the limit of a
	// handler.
	Lease time.Duration
	// Concurrency is how many groups of rows of one kind (a reminder type, a channel, a
	// subscriber) in one lane each pass handles at once; default 8. A tenant with a backlog,
	// or whose calls hang, has the same number for itself. In PollOnce all tenants share
	// them.
	Concurrency int
	// InFlight is the limit of rows of one kind in one lane that each pass has claimed and
	// not yet settled, so that a kind that hangs does not block others; default 4000, and at
	// least Batch. Tenants with backlogs share twice as many.
	InFlight int
	// Grace is how long Run waits for handlers when its context ends; default 30 seconds.
	// After that their contexts end, too.
	Grace time.Duration
	// Lanes are the weights by which lanes share a claim; default urgent 8, normal 4, bulk
	// 1. Rows of other lanes are left to other processes.
	Lanes map[int16]int

	// Retention says how long ended rows are kept. It should be the same in every process.
	Retention Retention
	// Privacy has hooks that erase the host's own data together with a person.
	Privacy PrivacyOptions

	// Logger gets warnings and errors, without payloads; default slog.Default().
	Logger *slog.Logger
	// MeterProvider gets the metrics; default OpenTelemetry's global one, which does nothing
	// until a host sets it.
	MeterProvider metric.MeterProvider
	// TracerProvider gets the spans; default OpenTelemetry's global one, which does nothing
	// until a host sets it.
	TracerProvider trace.TracerProvider
	// Store names the database in metrics and logs, as their attribute store, and in Health,
	// where a process has pollers on several. If empty, the first poller to run has no such
	// attribute, and others with the same MeterProvider have a number from 2 on in the gauges.
	Store string
}

// forWork are the settings of each pass.
func (o Options) forWork() work.Options {
	return work.Options{
		Batch: o.Batch, Interval: o.Interval, Lease: o.Lease, Concurrency: o.Concurrency, InFlight: o.InFlight, Grace: o.Grace,
		Lanes: o.Lanes, Store: o.Store, Logger: o.Logger, MeterProvider: o.MeterProvider, TracerProvider: o.TracerProvider,
	}
}
