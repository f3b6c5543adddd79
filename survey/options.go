package survey

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// Options are the settings of a [Service]; nil and every zero value are useful.
type Options struct {
	// SurveyURL is the address of the form, in which {token} stands for the link's
	// token and {publicId} for the instance's PublicID, such as
	// "https://example.com/s/{token}". A process that sends needs it.
	SurveyURL string
	// LinkKey makes the tokens of links: at least 32 random bytes, the same in every
	// process. Empty: the store makes one for each tenant and keeps it, so that
	// whoever reads the database can make links. OldLinkKeys, and the store's, still
	// make the links of instances that were created with them, so that a reminder
	// months later has the link of the first send; what was sent is found without.
	LinkKey     []byte
	OldLinkKeys [][]byte
	// Renderer makes the text of sends; nil: the definition's messages, else the
	// texts that come with the package.
	Renderer Renderer
	// ExpiryGrace is how long an instance stays open after its last send, and after
	// its event if nothing was sent; default 30 days. A change applies to rows that
	// are saved afterwards.
	ExpiryGrace time.Duration
	// UnclaimedAfter is how long a due send waits for a process that has its
	// channel, while processes without it look on; default 1 h. Then its schedule
	// stops.
	UnclaimedAfter time.Duration
	// InDoubt says what becomes of a send of which nobody knows whether it happened.
	// Default [Advance].
	InDoubt InDoubt
	// Concurrency is how many calls one group of sends makes at once; default 16.
	Concurrency int
	// CallTimeout bounds one call of a channel or a subscriber, in real time; default
	// 1 min.
	CallTimeout time.Duration
	// Gates choose what the built-in gates of package notify do about links; nil:
	// those that need no choice. HostGates are asked after them.
	Gates     *notify.GateOptions
	HostGates []notify.Gate
	// ExpectedSubscribers are keys of subscribers that get responses even if no
	// process that has them has run yet: what is for them waits, and is listed.
	ExpectedSubscribers []string
	// Logger gets panics of channels, renderers and subscribers, and why a link or its
	// text could not be made; nothing of the customer. Default slog.Default().
	Logger *slog.Logger
}

// InDoubt is the policy for a send whose call began and whose end is not known.
type InDoubt string

// The policies of a send in doubt.
const (
	Advance InDoubt = "Advance" // takes it for sent: a customer rather misses one reminder than gets it twice
	Retry   InDoubt = "Retry"   // sends it again
	Hold    InDoubt = "Hold"    // waits for a person
)

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	out.ExpiryGrace = cmp.Or(max(out.ExpiryGrace, 0), 30*24*time.Hour)
	out.UnclaimedAfter = cmp.Or(max(out.UnclaimedAfter, 0), time.Hour)
	out.InDoubt = cmp.Or(out.InDoubt, Advance)
	out.Concurrency = cmp.Or(max(out.Concurrency, 0), 16)
	out.CallTimeout = cmp.Or(max(out.CallTimeout, 0), time.Minute)
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	return out
}
