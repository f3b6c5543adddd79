package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// Forecast is what would become of a message now.
type Forecast struct {
	Message OutgoingMessage // as it is stored, or would be
	// Verdict is Proceed for a message that would be sent now, with To where it
	// would go elsewhere. Otherwise it has the reason.
	Verdict Verdict
}

// DryRun says of messages, in their order, what would become of each if it were due
// now: who would get it, and why others would not. It asks the gates about all of
// them at once, so that what one message uses up another lacks. Nothing is written,
// counted or reserved. The messages are those of EnsureOutgoingMessage, whether
// they exist or not; one that has been sent, or ended otherwise, has ReasonExists.
// An error of a gate is that of DryRun.
func (n *Notifier) DryRun(ctx context.Context, want ...OutgoingMessage) ([]Forecast, error) {
	rows, err := outgoingKind.prepare(n, want)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	out, err := n.forecasts(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("notify: DryRun: %w", err)
	}
	for _, g := range n.dryGates() {
		if err := n.dryAsk(ctx, g, out); err != nil {
			return nil, fmt.Errorf("notify: DryRun: gate %s: %w", gateName(g), err)
		}
	}
	return out, nil
}

// forecasts puts stored messages in the place of those that exist.
func (n *Notifier) forecasts(ctx context.Context, rows []OutgoingMessage) ([]Forecast, error) {
	places := make([]place, len(rows))
	for i, m := range rows {
		places[i] = place{m.Scope, m.Key}
	}
	var stored map[place]*OutgoingMessage
	err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		stored, err = loadPlaces(ctx, tx, outgoingMessages, places)
		return err
	})
	out := make([]Forecast, len(rows))
	for i, m := range rows {
		out[i].Message = m
		s := stored[places[i]]
		if s == nil {
			continue
		}
		out[i].Message = *s
		if s.DueOn.IsZero() || s.Status != StatusCreated && s.Status != StatusRetryReady {
			out[i].Verdict = Skip(ReasonExists)
		}
	}
	return out, err
}

// dryGates are the gates, and what claims leave out.
func (n *Notifier) dryGates() []Gate {
	if slices.ContainsFunc(n.gates, func(g Gate) bool { _, ok := g.(pauseGate); return ok }) {
		return n.gates
	}
	return slices.Insert(slices.Clone(n.gates), 1, Gate(pauseGate{n.store}))
}

// dryAsk asks a gate about what those before it let through.
func (n *Notifier) dryAsk(ctx context.Context, g Gate, all []Forecast) error {
	var asked []int
	var attempts []Attempt
	for i := range all {
		if all[i].Verdict.Action == ActionProceed {
			a := n.attempt(&all[i].Message)
			a.DryRun = true
			asked, attempts = append(asked, i), append(attempts, a)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	verdicts, err := n.answers(ctx, g, attempts)
	if err != nil {
		return err
	}
	for k, i := range asked {
		if v := verdicts[k]; v.Action != ActionProceed || v.To != "" {
			all[i].Verdict = v
		}
	}
	return nil
}
