// Package gate has the gates that are policies: how many messages a recipient gets,
// at what hours, how fast channels are used, and who may get anything at all. They
// stand beside those that package notify asks in any case, about every message: also those of
// reminders and surveys.
package gate

import (
	"slices"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Options choose what the built-in gates do; nil and every zero value leave
// out what needs a choice.
type Options struct {
	// HashKey is that of [notify.Options]: the list of suppressed addresses knows them under
	// it. With another one the gate lets nothing through, and [notify.New] panics. Without one,
	// and as long as nothing has been hashed, the list is empty and everybody gets through.
	HashKey []byte
	// Guard is for environments in which no customer may get anything; nil:
	// everybody may.
	Guard *Guard
	// Caps bound how many messages a recipient gets, over all producers and
	// methods. All of them hold.
	Caps []Cap
	// Window keeps quiet hours; nil: there are none.
	Window *Window
	// Rates bound how fast channels are used, one for each channel.
	Rates []Rate
}

// New makes all built-in gates, in the order in which they are asked: whether the
// database is a copy, who may get anything here, and then the others of
// [notify.OwnGates] (what is paused, which addresses are suppressed, what recipients
// have opted out of), the frequency caps, the send window, the rates. Their state is
// in the store, which all processes share, so give all of them the same options. A
// host appends its own, or puts them between. It panics on options that no program
// can mean.
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
		gates = append(gates, newRateGate(store, o.Rates))
	}
	return gates
}

// Reasons of these gates: why a message waits, or ended unsent. They are stored and
// shown.
const (
	// ReasonNotAllowed: the recipient may get nothing in this environment. No action
	// needed.
	ReasonNotAllowed = "NotAllowed"
	// ReasonFrequencyCap: the recipient has got as many messages as a cap allows.
	// The message waits, or has ended, as the cap says.
	ReasonFrequencyCap = "FrequencyCap"
	// ReasonQuietHours: it is quiet hours where the recipient lives. The message
	// waits for the next send window.
	ReasonQuietHours = "QuietHours"
	// ReasonRateLimit: the channel's rate is used up. The message waits its turn; if
	// many wait long, raise the rate or send less.
	ReasonRateLimit = "RateLimit"
)

// Schemas lists the tables of this package, so that adapters' tests can
// compare them with a live database.
func Schemas() []*driver.Schema {
	return []*driver.Schema{&frequencies.Schema, &rateBuckets.Schema, &rateReservations.Schema}
}
