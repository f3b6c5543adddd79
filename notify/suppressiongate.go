package notify

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// suppressionGate keeps messages from addresses that bounced for good, whose owners
// complained, or that somebody has suppressed. Its notifier has the key under which
// the list knows addresses, and does nothing else.
type suppressionGate struct{ n *Notifier }

func (suppressionGate) name() string { return "suppression" }

// Ask answers with one statement a scope. With another key than the list's it would
// find nobody in it, so it answers nothing then.
func (g suppressionGate) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	if err := g.n.prepareLookup(ctx); err != nil {
		return nil, err
	}
	messages := make([]*OutgoingMessage, len(a))
	for i := range a {
		messages[i] = &OutgoingMessage{Record: storage.Record{Scope: a[i].Scope}, Method: a[i].Method, Address: a[i].Address}
	}
	var reasons []SuppressionReason
	err := g.n.store.InTx(ctx, func(tx storage.Tx) (err error) {
		reasons, err = g.n.suppressed(ctx, tx, messages)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Verdict, len(a))
	for i, r := range reasons {
		if r.stops(a[i].Mandatory) {
			out[i] = Skip(ReasonSuppressed)
		}
	}
	return out, nil
}
