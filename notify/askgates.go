package notify

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// redirects are the addresses that gates gave instead of the messages' own.
type redirects map[*OutgoingMessage]string

// askGates asks the gates in order, each about what those before it let through,
// settles the messages that do not go out now, and returns the others. It comes
// before the call-started write, so that a crash here leaves nothing in doubt.
func (n *Notifier) askGates(ctx context.Context, items []sending) ([]sending, redirects) {
	var to redirects
	for _, g := range n.gates {
		if len(items) > 0 {
			items = n.askGate(ctx, g, items, &to)
		}
	}
	return items, to
}

func (n *Notifier) askGate(ctx context.Context, g Gate, items []sending, to *redirects) (open []sending) {
	attempts := make([]Attempt, len(items))
	for i, it := range items {
		attempts[i] = n.attempt(it.Row)
	}
	verdicts, err := n.answers(ctx, g, attempts)
	if err != nil && ctx.Err() == nil {
		n.options.Logger.ErrorContext(ctx, "belfry: a gate failed, and lets nothing through", slog.String("gate", gateName(g)), slog.Int("messages", len(items)))
	}
	for i, it := range items {
		switch {
		case err == nil:
			if !n.apply(it.Row, verdicts[i]) {
				continue
			}
			if address := verdicts[i].To; address != "" {
				to.set(it.Row, address)
			}
			open = append(open, it)
		case it.Ctx.Err() != nil || ctx.Err() != nil:
			it.Row.released(storage.Now(n.store))
		default:
			it.Row.unasked(storage.Now(n.store), ReasonGateFailed)
		}
	}
	return open
}

func (r *redirects) set(m *OutgoingMessage, address string) {
	if *r == nil {
		*r = redirects{}
	}
	(*r)[m] = address
}

// answers asks one gate. What it says is one verdict for each attempt that means
// something, or an error, which is not logged: it may hold personal data.
func (n *Notifier) answers(ctx context.Context, g Gate, a []Attempt) (verdicts []Verdict, err error) {
	err = work.Guard(func() (err error) {
		verdicts, err = g.Ask(ctx, a)
		return err
	})
	n.logPanic("a gate panicked", err, slog.String("gate", gateName(g)))
	if err != nil {
		return nil, err
	}
	if len(verdicts) != len(a) {
		return nil, fmt.Errorf("notify: gate %s gave %d verdicts for %d attempts", gateName(g), len(verdicts), len(a))
	}
	for _, v := range verdicts {
		if !v.Action.known() {
			return nil, fmt.Errorf("notify: gate %s: %.40q is no action", gateName(g), string(v.Action))
		}
	}
	return verdicts, nil
}

// gateName is what a person may know a gate by.
func gateName(g Gate) string {
	if named, ok := g.(interface{ name() string }); ok {
		return named.name()
	}
	return fmt.Sprintf("%T", g)
}

func (n *Notifier) attempt(m *OutgoingMessage) Attempt {
	t := n.registry.lookup(m.NotificationType)
	return Attempt{
		Scope: m.Scope, MessageID: m.MessageID, Number: m.Calls + 1,
		NotificationType: m.NotificationType, BusinessUnit: m.BusinessUnit, Channel: m.Type, Method: m.Method,
		RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash, Address: m.Address, Zone: m.Zone,
		Lane: m.Lane, Mandatory: m.Mandatory || t.Mandatory, Urgent: t.Urgent || m.Lane == storage.LaneUrgent, Now: storage.Now(n.store),
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
