package notify

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// usualHeaders may always be set: they describe a mail, and request no action.
var usualHeaders = []string{"Feedback-ID", "Importance", "Keywords", "List-ID", "Organization", "Precedence", "Priority", "Sensitivity",
	"X-Auto-Response-Suppress", "X-Entity-Ref-ID", "X-Priority"}

// checkMailHeaders panics on what Options cannot allow.
func checkMailHeaders(names []string) {
	for _, name := range names {
		if !channel.MayBeSet(name) {
			panic(fmt.Sprintf("notify: New: MailHeaders: %.40q is not for a message to set", name))
		}
	}
}

// allowed refuses headers that the host has not allowed.
func (n *core) allowed(c Content) error {
	for name := range c.Mail.Headers {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(usualHeaders, same) && !slices.ContainsFunc(n.options.MailHeaders, same) {
			return fmt.Errorf("%w: mail headers: %.60q is not among Options.MailHeaders", channel.ErrContent, name)
		}
	}
	return nil
}

// keepCopies leaves out the copies whose address is not wanted.
func keepCopies(m channel.Mail, wanted func(address string) bool) channel.Mail {
	drop := func(text string) bool {
		a, err := channel.ParseMailbox(text)
		return err != nil || !wanted(a.Address)
	}
	m.CC = slices.DeleteFunc(slices.Clone(m.CC), drop)
	m.BCC = slices.DeleteFunc(slices.Clone(m.BCC), drop)
	return m
}

// copiesOf are the addresses that get one.
func copiesOf(m channel.Mail) (out []string) {
	keepCopies(m, func(address string) bool { out = append(out, address); return true })
	return out
}

// letters are the mail parts of messages as they go out.
type letters map[*messageRow]channel.Mail

// wish is one copy that a message is to have, as long as no gate is against it.
type wish struct {
	it      sending
	address string
}

// askCopies asks the gates about those who get a copy, each as an attempt of its own
// that counts nothing: whom a gate skips or redirects gets none. The recipient of the
// message gets no copy, and a redirected message has none.
func (n sender) askCopies(ctx context.Context, items []sending, p parcel) ([]sending, letters) {
	wishes := wishesOf(items, p.to)
	for _, g := range n.gates {
		if len(wishes) == 0 {
			break
		}
		var err error
		if wishes, err = n.granted(ctx, g, wishes); err != nil {
			items = n.withoutCopies(ctx, items, err)
			return items, lettersOf(items, nil)
		}
	}
	return items, lettersOf(items, wishes)
}

// wishesOf are the copies that messages name, but for those of redirected ones.
func wishesOf(items []sending, to redirects) (wishes []wish) {
	for _, it := range items {
		if to[it.Row] != "" {
			continue
		}
		for _, address := range copiesOf(it.Row.Content.Mail) {
			if spelling.Folded("email", address) != spelling.Folded("email", it.Row.Address) {
				wishes = append(wishes, wish{it, address})
			}
		}
	}
	return wishes
}

// granted are the copies that a gate is not against.
func (n sender) granted(ctx context.Context, g gate.Gate, wishes []wish) (out []wish, err error) {
	verdicts, err := n.askAbout(ctx, g, wishes, calls.Gate)
	for i, v := range verdicts {
		if err == nil && !deniesCopy(v) {
			out = append(out, wishes[i])
		}
	}
	return out, err
}

// asks is how a gate is asked.
type asks func(ctx context.Context, log *slog.Logger, asked any, attempts []gate.Attempt, ask func(context.Context, []gate.Attempt) ([]gate.Verdict, error), known func(gate.Verdict) bool) ([]gate.Verdict, error)

// askAbout asks a gate about copies.
func (n sender) askAbout(ctx context.Context, g gate.Gate, wishes []wish, how asks) ([]gate.Verdict, error) {
	attempts := make([]gate.Attempt, len(wishes))
	for i, w := range wishes {
		attempts[i] = n.copyAttempt(w.it.Row, w.address)
	}
	return how(ctx, n.options.Logger, g, attempts, g.Ask, gate.Verdict.Known)
}

// deniesCopy reports whether a gate's word about a copy means that there is none.
func deniesCopy(v gate.Verdict) bool { return v.Action == gate.ActionSkip || v.To != "" }

// withoutCopies settles the messages that have copies, about which a gate has not
// answered, and returns the others.
func (n sender) withoutCopies(ctx context.Context, items []sending, err error) (open []sending) {
	for _, it := range items {
		switch m := it.Row.Content.Mail; {
		case len(m.CC)+len(m.BCC) == 0:
			open = append(open, it)
		default:
			n.notAsked(it, it.Ctx.Err() != nil || ctx.Err() != nil, err, reasons.GateFailed)
		}
	}
	return open
}

// lettersOf are the mail parts with the copies that are left.
func lettersOf(items []sending, granted []wish) letters {
	out := letters{}
	wanted := map[*messageRow][]string{}
	for _, w := range granted {
		wanted[w.it.Row] = append(wanted[w.it.Row], w.address)
	}
	for _, it := range items {
		if mail := it.Row.Content.Mail; !mail.IsZero() {
			out[it.Row] = keepCopies(mail, func(address string) bool { return slices.Contains(wanted[it.Row], address) })
		}
	}
	return out
}

// copyAttempt is a copy of m to address. Its reader has asked for nothing.
func (n sender) copyAttempt(m *messageRow, address string) gate.Attempt {
	a := n.attempt(m)
	a.RecipientRef, a.RecipientHash, a.Address = "", n.recipientHash("", m.Method, address), address
	a.Requested, a.DryRun = false, true
	return a
}

// ofCopy reports whether an event is about a reader of a copy of the message, with
// its last call or an earlier one, or about another person whom its provider names for certain.
func (n tracker) ofCopy(m *messageRow, e *deliveryEvent) bool {
	return !m.Redirected && (m.Copies > 0 || m.Calls > 1 || e.AddressOnly) && e.AddressHash != "" && !slices.Contains(n.addressHashes("email", m.Address), e.AddressHash)
}

// ofRecipients makes of events about copies that the provider has the mail, which is all
// that they say of the message.
func (n tracker) ofRecipients(events []*deliveryEvent, found map[*deliveryEvent]*messageRow) ([]*deliveryEvent, map[*deliveryEvent]*messageRow) {
	out, of := make([]*deliveryEvent, len(events)), make(map[*deliveryEvent]*messageRow, len(events))
	for i, e := range events {
		if n.ofCopy(found[e], e) {
			accepted := *e
			accepted.StatusKind = channel.KindAccepted
			out[i] = &accepted
		} else {
			out[i] = e
		}
		of[out[i]] = found[e]
	}
	return out, of
}

// suppressCopies suppresses what events say of the addresses of copies.
func (n tracker) suppressCopies(ctx context.Context, tx storage.Tx, events []*deliveryEvent, found map[*deliveryEvent]*messageRow) error {
	about := slices.DeleteFunc(slices.Clone(events), func(e *deliveryEvent) bool {
		return e.suppresses() == "" || found[e].Method != "email" || !n.ofCopy(found[e], e)
	})
	about, err := n.ofAddressees(ctx, tx, about, found)
	if err != nil || len(about) == 0 {
		return err
	}
	rows := make([]*suppressionRow, len(about))
	for i, e := range about {
		m, r := found[e], e.suppresses()
		rows[i] = n.suppression(m.Scope, Destination{m.Method, m.Address}, r, e.said(m))
		rows[i].AddressHash, rows[i].Key = e.AddressHash, suppressionKey(e.AddressHash, r)
	}
	_, err = suppressions.Ensure(ctx, tx, renew, rows...)
	return err
}

// ofAddressees leaves out reports about addresses that their message does not name for a
// copy. A report that came back by mail may be written by who got the mail.
func (n tracker) ofAddressees(ctx context.Context, from driver.Reader, events []*deliveryEvent, found map[*deliveryEvent]*messageRow) ([]*deliveryEvent, error) {
	var places []driver.ScopedKey
	for _, e := range events {
		if e.AddressOnly {
			places = append(places, outgoingMessages.ScopedKeyOf(found[e]))
		}
	}
	if len(places) == 0 {
		return events, nil
	}
	messages, err := outgoingMessages.GetMany(ctx, from, places, "content")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(events, func(e *deliveryEvent) bool {
		m := messages[outgoingMessages.ScopedKeyOf(found[e])]
		return e.AddressOnly && (m == nil || !slices.ContainsFunc(copiesOf(m.Content.Mail), func(address string) bool {
			return slices.Contains(n.addressHashes("email", address), e.AddressHash)
		}))
	}), nil
}
