package notify

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Gate is asked about messages after their claim and before their provider is
// called, so that a crash in a gate leaves nothing in doubt. It is called from
// several goroutines.
//
// Ask answers for each attempt in order. A message that is told to wait, or not to
// be sent, keeps the reason; one that has waited is revalidated before it goes
// out. An error, a panic and an answer that is none (another number of verdicts,
// an unknown action) let nothing through: the messages are tried again with
// back-off, and then wait for a person.
//
// A gate that counts does so by MessageID and Number: the same attempt may be
// asked about again, after a crash or after another gate let it wait, and counts
// once. Each copy of a mail ([channel.Mail]) is asked about beside it, as an attempt
// without a RecipientRef: one that is skipped or redirected is left out. Where DryRun
// is set it only says what it would say, and counts and writes nothing.
//
// One that has a method Name() string is called by that name in logs and errors.
type Gate interface {
	Ask(ctx context.Context, a []Attempt) ([]Verdict, error)
}

// GateFunc is a Gate that looks at one attempt at a time.
type GateFunc func(ctx context.Context, a Attempt) (Verdict, error)

// Ask calls f for each attempt.
func (f GateFunc) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	out := make([]Verdict, len(a))
	for i := range a {
		v, err := f(ctx, a[i])
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Attempt is a message that is about to be handed to a provider.
type Attempt struct {
	Scope     Scope
	MessageID string
	// Reminds is the MessageID of the message that this one reminds of; caps do not
	// count one against the other. Empty: none.
	Reminds string
	// Number counts the provider calls, the one in question included: 1 is the
	// first.
	Number int

	NotificationType string
	BusinessUnit     string
	Channel, Method  string // "email:smtp", "email"
	// RecipientRef is the host's id of the recipient; it may be empty.
	// RecipientHash stands for it, the method and the address.
	RecipientRef, RecipientHash string
	Address                     string // normalised; never to be logged
	Zone                        string // IANA name; empty: not known
	Lane                        int16
	// Group, Mandatory, Requested and Urgent are those of the [Type], as it was registered
	// where the message was made or is here. All that is in the urgent lane is Urgent.
	// OptIn is that of the group.
	Group                               string
	OptIn, Mandatory, Requested, Urgent bool
	Now                                 time.Time
	DryRun                              bool
}

// Recipient tells people apart over all methods, as far as the host does. It fits
// the key of a row.
func (a *Attempt) Recipient() string {
	if a.RecipientRef == "" {
		return "hash:" + a.RecipientHash
	}
	return recipientOf(a.RecipientRef)
}

// Key tells a call from all others: that of its channel, message and number. It fits
// the key of a row, and is what a gate counts once.
func (a *Attempt) Key() string {
	return joined(keyPart(a.Channel), keyPart(a.MessageID), strconv.Itoa(a.Number))
}

func recipientOf(ref string) string { return "ref:" + keyPart(ref) }

// keyPart is text as a part of a key; one that no key can hold is hashed, so that
// a strange message does not stop those beside it.
func keyPart(text string) string {
	if _, err := keys.Join(text); err != nil || len(text) > keys.MaxPartLen {
		sum := keys.Sum("belfry-key-part-1", text)
		return "sum " + hex.EncodeToString(sum[:])
	}
	return text
}

// joined are parts of which each is fit for a key.
func joined(parts ...string) string { return strings.Join(parts, "\x1f") }

// Verdict is the answer to the question whether a message may go out now. The
// zero value is Proceed.
type Verdict struct {
	Action Action
	Until  time.Time // of Defer: when to ask again
	Reason string    // of Defer and Skip: a code, kept on the message
	// To, of Proceed and only from a [Gate], is the address that gets the message
	// instead of its recipient; empty: the recipient does.
	To string
}

// Action is what a [Verdict] asks for.
type Action string

// The actions of a verdict.
const (
	ActionProceed Action = ""
	ActionDefer   Action = "Defer"
	ActionSkip    Action = "Skip"
)

func (v Verdict) known() bool {
	return v.Action == ActionProceed || v.Action == ActionDefer || v.Action == ActionSkip
}

// Proceed lets a message go out.
func Proceed() Verdict { return Verdict{} }

// Defer makes a message wait; no try is counted.
func Defer(until time.Time, reason string) Verdict {
	return Verdict{Action: ActionDefer, Until: until, Reason: reason}
}

// Skip ends a message unsent.
func Skip(reason string) Verdict { return Verdict{Action: ActionSkip, Reason: reason} }

// allGates are those that each process asks, and the host's behind them. It panics on a
// gate that is nil.
func (n *core) allGates(own []Gate) []Gate {
	for i, g := range own {
		if g == nil {
			panic(fmt.Sprintf("notify: New: gate %d is nil", i+1))
		}
	}
	return append([]Gate{n.environment, recipientGate{n}}, own...)
}

// recipientGate lets nothing through that is paused, goes to a suppressed address or to
// an erased person, or that its recipient or support has stopped. Messages that were
// claimed before a pause are given back, and are claimed again when it is over.
type recipientGate struct{ n *core }

func (recipientGate) Name() string { return "pauses, suppressions and preferences" }

// Ask reads in one transaction. With another HashKey than the stored one it would find no
// address, so it lets nothing through then.
func (g recipientGate) Ask(ctx context.Context, a []Attempt) (out []Verdict, err error) {
	if err := g.n.prepareLookup(ctx); err != nil {
		return nil, err
	}
	err = g.n.store.View(ctx, func(from driver.Reader) error {
		out, err = g.n.contacts().verdicts(ctx, from, a)
		return err
	})
	return out, err
}

// verdicts are what pauses, suppressions and preferences say of attempts, in this order.
func (n Contacts) verdicts(ctx context.Context, from driver.Reader, a []Attempt) ([]Verdict, error) {
	paused, err := pausedIn(ctx, from)
	if err != nil {
		return nil, err
	}
	suppressed, err := n.suppressed(ctx, from, a)
	if err != nil {
		return nil, err
	}
	unwanted, err := n.unwanted(ctx, from, a)
	if err != nil {
		return nil, err
	}
	out := make([]Verdict, len(a))
	for i := range a {
		switch {
		case slices.ContainsFunc(paused, func(e Extent) bool { return e.covers(&a[i]) }):
			out[i] = Defer(a[i].Now, reasons.Paused)
		case suppressed[i] == channel.Erased:
			out[i] = Skip(reasons.Erased)
		case stops(suppressed[i], &a[i]):
			out[i] = Skip(reasons.Suppressed)
		case unwanted[i] != "":
			out[i] = Skip(unwanted[i])
		}
	}
	return out, nil
}

// redirects are the addresses that gates gave instead of the messages' own.
type redirects map[*messageRow]string

// askGates asks the gates in order, each about what those before it let through,
// settles the messages that do not go out now, and returns the others. It comes
// before the call-started write, so that a crash here leaves nothing in doubt.
func (n sender) askGates(ctx context.Context, items []sending, p parcel) ([]sending, redirects) {
	var to redirects
	for _, g := range n.gates {
		if len(items) > 0 {
			items = n.askGate(ctx, g, items, p, &to)
		}
	}
	return items, to
}

func (n sender) askGate(ctx context.Context, g Gate, items []sending, p parcel, to *redirects) (open []sending) {
	attempts := make([]Attempt, len(items))
	for i, it := range items {
		attempts[i] = n.attempt(it.Row)
		attempts[i].Channel = p.channels.turns[it.Row].name
	}
	verdicts, err := calls.Gate(ctx, n.options.Logger, g, attempts, g.Ask, Verdict.known)
	for i, it := range items {
		if err != nil {
			n.notAsked(it, it.Ctx.Err() != nil || ctx.Err() != nil, err, reasons.GateFailed)
			continue
		}
		if !n.apply(it.Row, verdicts[i]) {
			continue
		}
		if address := verdicts[i].To; address != "" {
			to.set(it.Row, address)
		}
		open = append(open, it)
	}
	return open
}

func (r *redirects) set(m *messageRow, address string) {
	if *r == nil {
		*r = redirects{}
	}
	(*r)[m] = address
}

func (n sender) attempt(m *messageRow) Attempt {
	t := n.registry.lookup(m.NotificationType)
	group := cmp.Or(m.ConsentGroup, t.Group)
	return Attempt{
		Scope: m.Scope, MessageID: m.MessageID, Reminds: m.Reminds, Number: m.Calls + 1,
		NotificationType: m.NotificationType, BusinessUnit: m.BusinessUnit, Channel: m.inUse(), Method: m.Method,
		RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash, Address: m.Address, Zone: m.Zone,
		Lane: m.Lane, Group: group, OptIn: m.OptIn || n.optIn(group), Mandatory: m.Mandatory || t.Mandatory, Requested: m.Requested || t.Requested,
		Urgent: t.Urgent || m.Lane == storage.LaneUrgent, Now: driver.Now(n.store),
	}
}

// allOf gives the same verdict on each of n attempts.
func allOf(n int, v Verdict) []Verdict {
	out := make([]Verdict, n)
	for i := range out {
		out[i] = v
	}
	return out
}
