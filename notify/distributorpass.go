package notify

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// nothing is what a handler decides whose rows say everything.
type nothing = struct{}

// distributorSpec is the send pass. A claim commits before anything is called,
// and a process claims only messages whose channel it has.
func (n *Notifier) distributorSpec() work.Spec[OutgoingMessage, nothing] {
	return work.Spec[OutgoingMessage, nothing]{
		Name: "notify.distributor", Table: outgoingMessages,
		Claimable: []string{StatusCreated, StatusRetryReady}, Busy: StatusSending,
		Types: n.channelKeys, Except: n.notNow, Group: n.options.Concurrency,
		Stream:  n.distribute,
		Fail:    sendFailed,
		Abandon: func(now time.Time, m *OutgoingMessage) { m.abandoned(now) },
		Release: func(now time.Time, m *OutgoingMessage) { m.released(now) },
		Merge:   n.mergeSent,
		Settled: n.tell,
	}
}

// parcel is what a group's calls take along beside the rows.
type parcel struct {
	channels channels
	to       redirects
	files    files
}

// distribute is one group of concurrent calls: ask whether they are still
// wanted, and whether they may go out now, record that they start, call, and note
// what came of it. A message lands as soon as it is not called, or its call has
// ended, whatever the others do.
func (n *Notifier) distribute(ctx context.Context, items []sending, land func(*OutgoingMessage, nothing)) error {
	var p parcel
	open, err := n.revalidate(ctx, n.inWindow(items))
	if err == nil && len(open) > 0 {
		open, p.channels, err = n.channelsOf(ctx, open, n.unserved)
	}
	if err != nil {
		return err
	}
	open, p.to = n.askGates(ctx, open)
	open, p.files = n.loadAttachments(ctx, open)
	landOthers(items, open, land)
	err = n.send(ctx, open, func(it sending) {
		n.call(it, p)
		land(it.Row, nothing{})
	})
	if err == nil {
		landOthers(open, nil, land)
	}
	return err
}

// landOthers lands the items that are not among open.
func landOthers(items, open []sending, land func(*OutgoingMessage, nothing)) {
	goesOn := make(map[*OutgoingMessage]bool, len(open))
	for _, it := range open {
		goesOn[it.Row] = true
	}
	for _, it := range items {
		if !goesOn[it.Row] {
			land(it.Row, nothing{})
		}
	}
}

// send starts calls, as many at once as the channel has slots, and returns when
// all have ended.
func (n *Notifier) send(ctx context.Context, open []sending, call func(sending)) error {
	if len(open) == 0 {
		return nil
	}
	free := n.slots[open[0].Row.Type]
	var calls sync.WaitGroup
	defer calls.Wait()
	for first := 0; first < len(open); {
		taken := free.take(ctx, len(open)-first)
		started, err := n.startCalls(ctx, open[first:first+taken])
		free.give(taken - len(started))
		for _, it := range started {
			calls.Go(func() {
				defer free.give(1)
				call(it)
			})
		}
		switch {
		case err != nil && first == 0 && taken == len(open):
			return err
		case err != nil || taken == 0: // what was called before stands
			n.unstarted(open[first:], err)
			return nil
		}
		first += taken
	}
	return nil
}

// unstarted settles messages whose calls did not begin, since the write before
// them failed, or since the process stops.
func (n *Notifier) unstarted(items []sending, err error) {
	now := storage.Now(n.store)
	for _, it := range items {
		if err == nil {
			it.Row.released(now)
		} else {
			sendFailed(now, it.Row, err)
		}
	}
}

// inWindow leaves out messages that may be sent again only within the window
// of their provider's idempotency, if that is over: they are in doubt again.
func (n *Notifier) inWindow(items []sending) []sending {
	now := storage.Now(n.store)
	var open []sending
	for _, it := range items {
		if until := it.Row.IdempotentUntil; !until.IsZero() && !now.Before(until) {
			it.Row.doubted(now, ReasonWindowOver)
			continue
		}
		open = append(open, it)
	}
	return open
}

// startCalls commits, in one write fenced by the versions, that the calls are
// about to begin. After a crash only these messages are in doubt. It returns
// those that are still ours.
func (n *Notifier) startCalls(ctx context.Context, items []sending) ([]sending, error) {
	if len(items) == 0 {
		return nil, nil
	}
	now := storage.Now(n.store)
	rows := make([]*OutgoingMessage, len(items))
	for i, it := range items {
		rows[i] = it.Row
		it.Row.calling(now)
	}
	ours, err := work.Start(ctx, n.store, outgoingMessages, now.Add(items[0].Lease), rows)
	var started []sending
	for i, it := range items {
		if err != nil || !ours[i] || it.Ctx.Err() != nil {
			it.Row.uncalled(now)
			continue
		}
		started = append(started, it)
	}
	return started, err
}

// call is the one provider call of a claim.
func (n *Notifier) call(it sending, p parcel) {
	ctx, cancel := context.WithTimeout(it.Ctx, n.options.CallTimeout)
	defer cancel()
	c, m := p.channels.of(it.Row), n.messageOf(it.Row, p)
	var receipt Receipt
	err := work.Guard(func() (err error) {
		receipt, err = c.Send(ctx, m)
		return err
	})
	n.logPanic("a channel panicked", err, slog.String("channel", it.Row.Type))
	it.Row.settled(storage.Now(n.store), receipt, err)
}

// messageOf is what the channel gets for this call.
func (n *Notifier) messageOf(row *OutgoingMessage, p parcel) Message {
	m := row.message()
	m.To = cmp.Or(p.to[row], m.To)
	m.UnsubscribeURL = n.unsubscribeURL(row)
	m.Attachments = p.files.of(row)
	return m
}

// message is what is stored of it.
func (m *OutgoingMessage) message() Message {
	return Message{
		ID: m.MessageID, Channel: m.Type, To: m.Address, Name: m.RecipientName,
		Subject: m.Content.Subject, Text: m.Content.Text, HTML: m.Content.HTML,
		Locale: m.Content.Locale, Attempt: m.Calls, On: m.CallStartedOn,
		Template: m.Content.Template, Metadata: m.Content.Metadata,
	}
}

// sendFailed settles a message whose group failed, or whose result could not be
// stored as it was: what the call decided stands.
func sendFailed(now time.Time, m *OutgoingMessage, _ error) {
	switch {
	case m.Status == StatusSentToProvider:
		m.ProviderMessageID = ""
	case m.Status != StatusSending && m.Status != StatusRetryReady:
	case !m.CallStartedOn.IsZero():
		m.doubted(now, ReasonPassFailed)
	default:
		m.unasked(now, ReasonPassFailed)
	}
}
