// Package gate has the gates for policies: frequency caps, quiet hours, rates of
// channels, and a guard for test environments. They run together with the gates that
// package notify always has, for every message: also those of reminders and surveys.
package gate

import (
	"slices"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Options configure the built-in gates. Nil and zero values leave out the gates that need
// a setting.
type Options struct {
	// HashKey is the HashKey of [notify.Options]; suppressed addresses are stored under it.
	// With a different key the gate lets nothing through, and [notify.New] panics. Without a
	// key, and as long as nothing has been hashed, the list is empty and all addresses pass.
	HashKey []byte
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

// New makes all built-in gates in their order: quarantine, guard, the others of
// [notify.OwnGates] (pauses, suppressions, opt-outs), frequency caps, send window, rates.
// Their state is in the store, which all processes share, so all processes need the same
// options. A host may append or insert its own gates. It panics on invalid options.
func New(store storage.Store, opts *Options) []notify.Gate {
	if store == nil {
		panic("gate: New needs a store")
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	gates := notify.OwnGates(store, o.HashKey)
	if o.Guard != nil {
		gates = slices.Insert(gates, 1, notify.Gate(newGuardGate(*o.Guard)))
	}
	if len(o.Caps) > 0 {
		gates = append(gates, newCapGate(store, o.Caps))
	}
	if o.Window != nil {
		gates = append(gates, newWindowGate(*o.Window))
	}
	if len(o.Rates) > 0 {
		counted := o.RateStore
		if counted == nil {
			counted = store
		}
		gates = append(gates, newRateGate(counted, o.Rates))
	}
	return gates
}

// Schemas lists the tables of this package, so that adapters' tests can
// compare them with a live database.
func Schemas() []*driver.Schema {
	return []*driver.Schema{&frequencies.Schema, &rateBuckets.Schema, &rateReservations.Schema}
}
