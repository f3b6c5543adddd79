package notify

import (
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// GateOptions choose what the built-in gates do; nil and every zero value leave
// out what needs a choice.
type GateOptions struct {
	// HashKey is that of [Options]: the list of suppressed addresses knows them under
	// it. With another one the gate lets nothing through, and New panics. Without one,
	// and as long as nothing has been hashed, the list is empty and everybody gets through.
	HashKey []byte
	// FormerHashKeys are those of [Options]; only package survey needs them here.
	FormerHashKeys [][]byte
	// Recipients is for environments in which no customer may get anything; nil:
	// everybody may.
	Recipients *RecipientGuard
	// Caps bound how many messages a recipient gets, over all producers and
	// methods. All of them hold.
	Caps []FrequencyCap
	// Window keeps quiet hours; nil: there are none.
	Window *SendWindow
	// Rates bound how fast channels are used, one for each channel.
	Rates []RateLimit
}

// Gates makes the built-in gates, in the order in which they are asked: whether the
// database is a copy, who may get anything here, what is paused, which
// addresses are suppressed, what recipients have opted out of, the frequency caps, the send window, the rates. Their state
// is in the store, which all processes share, so give all of them the same
// options. A host appends its own, or puts them between. It panics on options that
// no program can mean.
func Gates(store storage.Store, opts *GateOptions) []Gate {
	if store == nil {
		panic("notify: Gates needs a store")
	}
	var o GateOptions
	if opts != nil {
		o = *opts
	}
	gates := OwnGates(store, o.HashKey, o.FormerHashKeys...)
	if o.Recipients != nil {
		gates = slices.Insert(gates, 1, Gate(newRecipientGate(*o.Recipients)))
	}
	if len(o.Caps) > 0 {
		gates = append(gates, newFrequencyGate(store, o.Caps))
	}
	if o.Window != nil {
		gates = append(gates, newWindowGate(*o.Window))
	}
	if len(o.Rates) > 0 {
		gates = append(gates, newRateGate(store, o.Rates))
	}
	return gates
}
