package notify

import (
	"context"
	"fmt"
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
		Types: n.registry.channelKeys, Group: n.options.Concurrency,
		Handle:  n.distribute,
		Fail:    sendFailed,
		Abandon: func(now time.Time, m *OutgoingMessage) { m.abandoned(now) },
		Release: func(now time.Time, m *OutgoingMessage) { m.released(now) },
		Merge:   n.mergeSent,
		Settled: n.tell,
	}
}

// distribute is one group of concurrent calls: ask whether they are still
// wanted, record that they start, call, and note what came of it.
func (n *Notifier) distribute(ctx context.Context, items []work.Item[OutgoingMessage]) ([]nothing, error) {
	channel, err := n.channelOf(items)
	if err != nil {
		return nil, err
	}
	open, err := n.revalidate(ctx, n.inWindow(items))
	if err != nil {
		return nil, err
	}
	open, files := n.loadAttachments(ctx, open)
	started, err := n.startCalls(ctx, open)
	if err != nil {
		return nil, err
	}
	each(started, func(it work.Item[OutgoingMessage]) { n.call(it, channel, files) })
	return make([]nothing, len(items)), nil
}

func (n *Notifier) channelOf(items []work.Item[OutgoingMessage]) (Channel, error) {
	key := items[0].Row.Type
	c := n.registry.channels[key]
	if c == nil {
		return nil, fmt.Errorf("notify: no channel %q here", key)
	}
	return c, nil
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
func (n *Notifier) call(it work.Item[OutgoingMessage], c Channel, files files) {
	ctx, cancel := context.WithTimeout(it.Ctx, n.options.CallTimeout)
	defer cancel()
	m := it.Row.message()
	m.Attachments = files.of(it.Row)
	var receipt Receipt
	err := work.Guard(func() (err error) {
		receipt, err = c.Send(ctx, m)
		return err
	})
	n.logPanic("a channel panicked", err, slog.String("channel", c.Key()))
	it.Row.settled(storage.Now(n.store), receipt, err)
}

// message is what the channel gets.
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
