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
		Handle:  n.distribute,
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
// what came of it.
func (n *Notifier) distribute(ctx context.Context, items []work.Item[OutgoingMessage]) ([]nothing, error) {
	var p parcel
	open, err := n.revalidate(ctx, n.inWindow(items))
	if err == nil && len(open) > 0 {
		open, p.channels, err = n.channelsOf(ctx, open, n.unserved)
	}
	if err != nil {
		return nil, err
	}
	open, p.to = n.askGates(ctx, open)
	open, p.files = n.loadAttachments(ctx, open)
	if err := n.send(ctx, open, p); err != nil {
		return nil, err
	}
	return make([]nothing, len(items)), nil
}

// send makes the calls, as many at once as the channel has slots.
func (n *Notifier) send(ctx context.Context, open []work.Item[OutgoingMessage], p parcel) error {
	if len(open) == 0 {
		return nil
	}
	free := n.slots[open[0].Row.Type]
	for first := 0; first < len(open); {
		taken := free.take(ctx, len(open)-first)
		group := open[first : first+taken]
		started, err := n.startCalls(ctx, group)
		each(started, func(it work.Item[OutgoingMessage]) { n.call(it, p) })
		free.give(taken)
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
func (n *Notifier) unstarted(items []work.Item[OutgoingMessage], err error) {
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
func (n *Notifier) inWindow(items []work.Item[OutgoingMessage]) []work.Item[OutgoingMessage] {
	now := storage.Now(n.store)
	var open []work.Item[OutgoingMessage]
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
func (n *Notifier) startCalls(ctx context.Context, items []work.Item[OutgoingMessage]) ([]work.Item[OutgoingMessage], error) {
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
	var started []work.Item[OutgoingMessage]
	for i, it := range items {
		if err != nil || !ours[i] || it.Ctx.Err() != nil {
			it.Row.uncalled(now)
			continue
		}
		started = append(started, it)
	}
	return started, err
}

// each runs f for all items at once and waits.
func each(items []work.Item[OutgoingMessage], f func(work.Item[OutgoingMessage])) {
	var wg sync.WaitGroup
	for _, it := range items {
		wg.Go(func() { f(it) })
	}
	wg.Wait()
}

// call is the one provider call of a claim.
func (n *Notifier) call(it work.Item[OutgoingMessage], p parcel) {
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
