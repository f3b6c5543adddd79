package notify

import (
	"cmp"
	"log/slog"
	"time"
)

// Options are the settings of a [Notifier]; nil and every zero value are useful.
type Options struct {
	// HashKey keys the hash of recipients in message keys, so that nobody who
	// reads the database can find a phone number by trying all of them: 32
	// random bytes, the same in every process and for ever, since with another
	// key a repeat would not find the messages of the first run. Empty: a plain
	// hash.
	HashKey []byte
	// FormerHashKeys are those before HashKey. What is stored of recipients under one of
	// them still counts: suppressed addresses, and who without a Ref has opted out. After
	// [Notifier.RotateHashKey] every process needs them. An empty one is the plain hash.
	FormerHashKeys [][]byte
	// Concurrency is how many messages are taken through the gates together, and
	// called at once if their channel bears it; default 64. A poller handles several
	// such groups at once.
	Concurrency int
	// CallTimeout bounds one call of a channel, in real time; default 1 min. A
	// call that exceeds it leaves its message in doubt.
	CallTimeout time.Duration
	// ChannelConcurrency is how many calls of a channel, by its key, this process
	// makes at once over all groups; none: what the channel says ([Bounded]), or no
	// bound.
	ChannelConcurrency map[string]int
	// Gates are asked, in order, about every message after its claim and before its
	// call: those of [Gates], and the host's own. Whatever they are, a copied database,
	// a [Pause], suppressions and preferences keep messages back; they are asked before
	// the others, or where the gates have them.
	Gates []Gate
	// Channels chooses channels by scope; nil: every scope has the process's own.
	Channels ChannelSource
	// Unsubscribe has messages carry a link by which their recipient can
	// unsubscribe; nil: they carry none. Mandatory types never do.
	Unsubscribe *UnsubscribeOptions
	// Catalogue says which types of notification are wanted, and by whom. Nil:
	// every registered type is, by those whom its job names.
	Catalogue Catalogue
	// Logger gets panics of channels and renderers, and that a gate or a channel
	// source has failed; default slog.Default().
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	out.Concurrency = cmp.Or(max(out.Concurrency, 0), 64)
	out.CallTimeout = cmp.Or(max(out.CallTimeout, 0), time.Minute)
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	return out
}
