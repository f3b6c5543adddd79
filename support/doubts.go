package support

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// Outage is the messages of unknown outcome that one scope sent through one account, with
// less than an hour between two calls. Pass its Part to a Resolve.
type Outage struct {
	Part
	Rows int
}

// maxDoubts is the limit of messages that [Desk.Doubts] reads. apart is the time without
// a call that separates two outages.
const (
	maxDoubts = 1000
	apart     = time.Hour
)

// Doubts lists the unknown outcomes of a scope that wait for a decision, by outage. It
// reads the oldest thousand; more says that there are others.
func (d *Desk) Doubts(ctx context.Context, scope Scope) (out []Outage, more bool, err error) {
	if d.o.Notify == nil {
		return nil, false, nil
	}
	held, next, err := d.o.Notify.Support().Held(ctx, scope, reasons.OutcomeUnknown, storage.Page{Limit: maxDoubts})
	if err != nil {
		return nil, false, fmt.Errorf("support: Doubts: %w", err)
	}
	slices.SortStableFunc(held, func(a, b notify.OutgoingMessage) int { return a.CallStartedOn.Compare(b.CallStartedOn) })
	for i := range held {
		out = withDoubt(out, &held[i])
	}
	return out, next != "", nil
}

// withDoubt adds a message to its outage, or starts a new outage.
func withDoubt(out []Outage, m *notify.OutgoingMessage) []Outage {
	if m.CallStartedOn.IsZero() {
		return out
	}
	channel, until := cmp.Or(m.Via, m.Channel), m.CallStartedOn.Truncate(time.Minute).Add(time.Minute)
	for i := range out {
		o := &out[i]
		if o.Channel == channel && o.OwnAccount == m.OwnAccount && m.CallStartedOn.Sub(o.Until) < apart {
			o.Until, o.Rows = until, o.Rows+1
			return out
		}
	}
	return append(out, Outage{Part{Domain: "notify", Channel: channel, OwnAccount: m.OwnAccount, From: m.CallStartedOn.Truncate(time.Minute), Until: until}, 1})
}

// ofOutage resolves the unknown outcomes of one outage, page by page, each page in a
// transaction of its own.
func (d planner) ofOutage(scope Scope, o Order, p Part) (operation, error) {
	switch {
	case p.Channel == "":
		return nil, errors.New("no Channel")
	case p.From.IsZero() || !p.From.Before(p.Until):
		return nil, errors.New("both From and Until are required, and From is before Until")
	case p.OwnAccount && p.Everywhere:
		return nil, errors.New("OwnAccount and Everywhere cannot be combined")
	case p.Everywhere:
		scope = ""
	}
	of := notify.Doubts{Channel: p.Channel, OwnAccount: p.OwnAccount, From: p.From, Until: p.Until, Everywhere: p.Everywhere}
	return func(ctx context.Context, _ storage.Tx) (effect, error) {
		var all notify.ResolveReport
		why := "no call in these hours has an unknown outcome"
		for {
			page, err := d.o.Notify.Support().ResolveHeld(ctx, scope, of, o.Decision, o.By, &notify.ActionOptions{DryRun: o.DryRun})
			if err != nil {
				return effect{}, err
			}
			for _, m := range page.Messages {
				why = cmp.Or(m.Refusal, why)
			}
			all.Done, all.Refused = all.Done+page.Done, all.Refused+page.Refused
			all.Arrived, all.Absent = max(all.Arrived, page.Arrived), max(all.Absent, page.Absent)
			if of.After = page.Next; page.Next == "" {
				break
			}
		}
		if all.Done == 0 {
			return effect{}, fmt.Errorf("%w: Resolve: %s", automation.ErrActionRefused, why)
		}
		return decided(p, o.Decision, all, why), nil
	}, nil
}

// decided is the effect of a decision on an outage. why is the reason of one that is
// refused.
func decided(p Part, decision notify.Decision, r notify.ResolveReport, why string) (out effect) {
	span := fmt.Sprintf("%d of unknown outcome by %s, called from %s to %s", r.Done, p.Channel, moment(p.From), moment(p.Until))
	out.text = "counts as sent: " + span
	if decision == notify.DecideSendAgain {
		out.text, out.sends = "sends again: "+span, r.Done
	}
	if r.Refused > 0 {
		out.text += fmt.Sprintf("; refuses %d, such as one since %s", r.Refused, why)
	}
	if told := r.Arrived + r.Absent; told > 0 {
		out.text += fmt.Sprintf("; of earlier unknown outcomes, %d of %d had arrived", r.Arrived, told)
	} else {
		out.text += "; the provider has reported on no earlier unknown outcome"
	}
	return out
}
