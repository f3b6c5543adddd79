package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// allGates are those that each process asks, and the host's behind them. It panics on a
// gate that is nil.
func (n *core) allGates(own []gate.Gate) []gate.Gate {
	for i, g := range own {
		if g == nil {
			panic(fmt.Sprintf("notify: New: gate %d is nil", i+1))
		}
	}
	return append([]gate.Gate{n.environment, recipientGate{n}}, own...)
}

// recipientGate lets nothing through that is paused, goes to a suppressed address or to
// an erased person, or that its recipient or support has stopped. Messages that were
// claimed before a pause are given back, and are claimed again when it is over.
type recipientGate struct{ n *core }

func (recipientGate) Name() string { return "pauses, suppressions and preferences" }

// Ask reads in one transaction. With another HashKey than the stored one it would find no
// address, so it lets nothing through then.
func (g recipientGate) Ask(ctx context.Context, a []gate.Attempt) (out []gate.Verdict, err error) {
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
func (n Contacts) verdicts(ctx context.Context, from driver.Reader, a []gate.Attempt) ([]gate.Verdict, error) {
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
	out := make([]gate.Verdict, len(a))
	for i := range a {
		switch {
		case slices.ContainsFunc(paused, func(e Extent) bool { return e.covers(&a[i]) }):
			out[i] = gate.Defer(a[i].Now, reasons.Paused)
		case suppressed[i] == channel.Erased:
			out[i] = gate.Skip(reasons.Erased)
		case stops(suppressed[i], &a[i]):
			out[i] = gate.Skip(reasons.Suppressed)
		case unwanted[i] != "":
			out[i] = gate.Skip(unwanted[i])
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

func (n sender) askGate(ctx context.Context, g gate.Gate, items []sending, p parcel, to *redirects) (open []sending) {
	attempts := make([]gate.Attempt, len(items))
	for i, it := range items {
		attempts[i] = n.attempt(it.Row)
		attempts[i].Channel = p.channels.turns[it.Row].name
	}
	verdicts, err := calls.Gate(ctx, n.options.Logger, g, attempts, g.Ask, gate.Verdict.Known)
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

func (n sender) attempt(m *messageRow) gate.Attempt {
	t := n.registry.lookup(m.NotificationType)
	group := cmp.Or(m.ConsentGroup, t.Group)
	return gate.Attempt{
		Scope: m.Scope, MessageID: m.MessageID, Reminds: m.Reminds, Number: m.Calls + 1,
		NotificationType: m.NotificationType, BusinessUnit: m.BusinessUnit, Channel: m.inUse(), Method: m.Method,
		RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash, Address: m.Address, Zone: m.Zone,
		Lane: m.Lane, Group: group, OptIn: m.OptIn || n.optIn(group), Mandatory: m.Mandatory || t.Mandatory, Requested: m.Requested || t.Requested,
		Urgent: t.Urgent || m.Lane == storage.LaneUrgent, Now: driver.Now(n.store),
	}
}

// allOf gives the same verdict on each of n attempts.
func allOf(n int, v gate.Verdict) []gate.Verdict {
	out := make([]gate.Verdict, n)
	for i := range out {
		out[i] = v
	}
	return out
}
