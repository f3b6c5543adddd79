// Package gate has the gates for policies: frequency caps, quiet hours, rates of
// channels, and a guard for test environments. They run behind the gates that
// package notify always has, for every message: also those of reminders and surveys.
package gate

import (
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Options configure the gates of [New]. Nil and zero values leave a gate out.
type Options struct {
	// Guard is for environments that must not write to customers; nil: no restriction.
	Guard *Guard
	// Caps limit how many messages a recipient gets, over all producers and methods. All of
	// them apply.
	Caps []Cap
	// Window keeps quiet hours; nil: there are none.
	Window *Window
	// Rates limit how fast channels are used, one for each channel.
	Rates []Rate
	// RateStore is where the rates are counted, for accounts that several stores share:
	// give the gates of all of them one. While it is away nothing goes out by the limited
	// channels. Nil: the store itself.
	RateStore storage.Store
}

// New makes the gates of the options in their order: guard, frequency caps, send window,
// rates. A Notifier asks its own before them: quarantine, pauses, suppressed addresses,
// opt-outs. Their state is in the store, which all processes share, so all processes need
// the same options. A host may append or insert its own gates. It panics on invalid options.
func New(store storage.Store, opts *Options) []Gate {
	if store == nil {
		panic("gate: New needs a store")
	}
	if opts == nil {
		return nil
	}
	var gates []Gate
	if opts.Guard != nil {
		gates = append(gates, newGuardGate(*opts.Guard))
	}
	if len(opts.Caps) > 0 {
		gates = append(gates, newCapGate(store, opts.Caps))
	}
	if opts.Window != nil {
		gates = append(gates, newWindowGate(*opts.Window))
	}
	if len(opts.Rates) > 0 {
		counted := opts.RateStore
		if counted == nil {
			counted = store
		}
		gates = append(gates, newRateGate(counted, opts.Rates))
	}
	return gates
}

// Schemas lists the tables of this package, so that adapters' tests can
// compare them with a live database.
func Schemas() []*driver.Schema {
	return []*driver.Schema{&frequencies.Schema, &rateBuckets.Schema, &rateReservations.Schema}
}
