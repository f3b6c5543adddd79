package notify

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/driver"
)

// callsOf makes the calls of a group.
func (n sender) callsOf(ctx context.Context, items []sending, p parcel, land func(*messageRow, channel.SuppressionReason)) calls.Sender[messageRow, sending] {
	bounds, turns := n.bounds(items, p.channels), p.channels.turns
	return calls.Sender[messageRow, sending]{
		Store: n.store, Table: outgoingMessages, Slots: &calls.Process,
		Item:   func(it sending) sending { return it },
		Bounds: func(it sending) []calls.Bound { return bounds[it.Row] },
		Ready:  func(it sending) bool { return n.load(ctx, it, p.files) },
		Done:   func(it sending) { p.files.drop(it.Row.Content.blobs()) },
		Begin: func(m *messageRow, now time.Time) {
			m.Redirected, m.Copies = p.to[m] != "", len(p.letters[m].CC)+len(p.letters[m].BCC)
			if goesElsewhere(turns[m].channel) {
				m.Redirected, m.Copies = true, 0
			}
			turns[m].begin(m, now)
		},
		Undo:    func(m *messageRow, now time.Time) { turns[m].undo(m, now) },
		Bar:     n.barRead,
		Release: (*messageRow).released,
		Call:    func(items []sending) { n.call(items, p) },
		Land:    func(it sending) { land(it.Row, turns[it.Row].stops) },
	}
}

// call is the one provider call of a claim: today for one message.
func (n sender) call(items []sending, p parcel) {
	for _, it := range items {
		c, m := p.channels.turns[it.Row].channel, n.messageOf(it.Row, p)
		var receipt channel.Receipt
		err := n.do(it, "a channel panicked", func(ctx context.Context) (err error) {
			receipt, err = c.Send(ctx, m)
			return err
		})
		n.settle(it, p, receipt, channel.Classify(err))
	}
}

// refused notes what a refusal for good says of the message's own address.
func (t *turn) refused(m *messageRow, e *channel.Error) {
	t.stops = ""
	if e != nil && e.Class == channel.ClassPermanent && !m.Redirected && slices.Contains(strongest, e.Suppress) {
		t.stops = e.Suppress
	}
}

// settle applies the result of a call to the message, and to what is known of its
// channel.
func (n sender) settle(it sending, p parcel, receipt channel.Receipt, e *channel.Error) {
	m, now, t := it.Row, driver.Now(n.store), p.channels.turns[it.Row]
	t.refused(m, e)
	spared := (e == nil || it.Ctx.Err() == nil) && n.watch.Heard(it.Ctx, t.at, m.CallStartedOn, answerOf(e), t.probe)
	if next := n.nextWay(t, m, e); next != nil {
		m.goOn(now, next.name, e, n.watch.Known(t.at) != nil)
		return
	}
	defer t.roundOver(m)
	if !spared || e.Class == channel.ClassUnknown || t.refusedBefore(m) {
		m.settled(now, receipt, n.lastWord(t, m, e))
		return
	}
	if r := n.watch.Known(t.at); r != nil && t.probe {
		now = r.ProbeOn // behind others, which are due
	}
	m.spared(now, e)
}

// do calls a channel about a message.
func (n sender) do(it sending, panicked string, f func(context.Context) error) error {
	return calls.Do(it.Ctx, n.options.CallTimeout, n.options.Logger, panicked, slog.String("channel", it.Row.inUse()), f)
}

// messageOf is what the channel gets for this call.
func (n sender) messageOf(row *messageRow, p parcel) channel.Message {
	m := row.message()
	m.To = cmp.Or(p.to[row], m.To)
	m.Mail = p.letters[row]
	m.UnsubscribeURL = n.contacts().unsubscribeURL(row)
	m.Attachments = p.files.of(row)
	return m
}

// message is what is stored of it.
func (m *messageRow) message() channel.Message {
	return channel.Message{
		ID: m.MessageID, Channel: m.inUse(), To: m.Address, Name: m.RecipientName,
		Subject: m.Content.Subject, Text: m.Content.Text, HTML: m.Content.HTML,
		Locale: m.Content.Locale, Attempt: m.Calls, On: m.CallStartedOn,
		Template: m.Content.Template, Metadata: m.Content.Metadata,
		CollapseKey: m.Content.CollapseKey, ValidUntil: m.ValidUntil,
	}
}
