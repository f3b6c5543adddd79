package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
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
		Ready:  func(it sending) bool { return n.stillOpen(it, turns[it.Row]) && n.load(ctx, it, p.files) },
		Done:   func(it sending) { p.files.drop(it.Row.Content.blobs()) },
		Begin: func(m *messageRow, now time.Time) {
			m.Redirected, m.Copies = p.to[m] != "", len(p.letters[m].CC)+len(p.letters[m].BCC)
			if goesElsewhere(turns[m].channel) {
				m.Redirected, m.Copies = true, 0
			}
			turns[m].begin(m, now)
		},
		Undo:    func(m *messageRow, now time.Time) { turns[m].undo(m, now) },
		Bar:     n.bar,
		Release: (*messageRow).released,
		Gather:  func(items []sending) [][]sending { return n.gather(items, p) },
		Call:    func(items []sending) { n.call(items, p) },
		Land:    func(it sending) { land(it.Row, turns[it.Row].stops) },
	}
}

// batchBytes bounds the texts of one batch: with their encoding they fit in the request
// of every provider.
const batchBytes = 8 << 20

// gather makes the calls of a group: messages that go by one channel, which takes
// batches, go together. What has files goes alone, so does a probe, what was tried
// before, since it may be why a batch was refused, and all of an account that does not
// answer.
func (n sender) gather(items []sending, p parcel) (calls [][]sending) {
	type batch struct{ at, bytes int }
	open := map[channel.Channel]*batch{}
	for _, it := range items {
		t, size := p.channels.turns[it.Row], it.Row.Content.textBytes()
		most := t.batch(it.Row)
		if most < 2 || n.watch.Silent(t.at) {
			calls = append(calls, []sending{it})
			continue
		}
		b := open[t.channel]
		if b == nil || len(calls[b.at]) == most || b.bytes+size > batchBytes {
			b = &batch{at: len(calls)}
			open[t.channel], calls = b, append(calls, nil)
		}
		calls[b.at], b.bytes = append(calls[b.at], it), b.bytes+size
	}
	return calls
}

// batch is how many messages may go with this one.
func (t *turn) batch(m *messageRow) int {
	b, ok := t.channel.(channel.BatchSend)
	if !ok || t.probe || m.RetryCount > 0 || len(m.Content.blobs()) > 0 || !reflect.ValueOf(t.channel).Comparable() {
		return 1
	}
	return b.MaxBatch()
}

// call is one provider call.
func (n sender) call(items []sending, p parcel) {
	if len(items) > 1 {
		n.callBatch(items, p)
		return
	}
	it := items[0]
	c, m := p.channels.turns[it.Row].channel, n.messageOf(it.Row, p)
	var receipt channel.Receipt
	err := n.do(it.Ctx, it.Row, "a channel panicked", func(ctx context.Context) (err error) {
		receipt, err = c.Send(ctx, m)
		return err
	})
	n.settle(it, p, receipt, channel.Classify(err))
}

// callBatch is one call for several messages. An error of the call is that of each
// of them, and told of the channel once.
func (n sender) callBatch(items []sending, p parcel) {
	first := items[0]
	c := p.channels.turns[first.Row].channel.(channel.BatchSend)
	var messages []channel.Message
	var contexts []context.Context
	for _, it := range items {
		messages, contexts = append(messages, n.messageOf(it.Row, p)), append(contexts, it.Ctx)
	}
	ctx, cancel := calls.Together(contexts)
	defer cancel()
	var results []channel.BatchResult
	err := n.do(ctx, first.Row, "a channel panicked", func(ctx context.Context) (err error) {
		results, err = c.SendBatch(ctx, messages)
		return err
	})
	if err == nil && len(results) != len(items) {
		err = channel.Unknown("results", fmt.Errorf("notify: %d results of %d messages", len(results), len(items)))
	}
	if e := channel.Classify(err); e != nil {
		spared := n.heard(ctx, first.Row, p, e, len(items))
		for _, it := range items {
			n.decide(it, p, channel.Receipt{}, wholly(e), spared)
		}
		return
	}
	for i, it := range items {
		n.settle(it, p, results[i].Receipt, channel.Classify(results[i].Err))
	}
}

// wholly is an error of a batch for each of its messages: it is unknown which of them was
// refused for good.
func wholly(e *channel.Error) *channel.Error {
	if e.Class != channel.ClassPermanent {
		return e
	}
	passing := channel.Transient(e.Code, e.RetryAfter, e.Err)
	if e.Fault.IsOutage() {
		passing = passing.Blame(e.Fault)
	}
	return passing
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
	n.decide(it, p, receipt, e, n.heard(it.Ctx, it.Row, p, e, 1))
}

// heard tells what a call about so many messages says of its channel, and reports whether
// the channel is out.
func (n sender) heard(ctx context.Context, m *messageRow, p parcel, e *channel.Error, messages int) (spared bool) {
	t := p.channels.turns[m]
	answer := answerOf(e)
	if e != nil {
		answer.Messages = messages
	}
	if answer.Policy {
		_, answer.Domain, _ = strings.Cut(m.Address, "@")
	}
	return (e == nil || ctx.Err() == nil) && n.watch.Heard(ctx, t.at, m.CallStartedOn, answer, t.probe)
}

// decide is what comes of a message by the result of its call.
func (n sender) decide(it sending, p parcel, receipt channel.Receipt, e *channel.Error, spared bool) {
	m, now, t := it.Row, driver.Now(n.store), p.channels.turns[it.Row]
	t.refused(m, e)
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
func (n sender) do(ctx context.Context, m *messageRow, panicked string, f func(context.Context) error) error {
	return calls.Do(ctx, n.options.CallTimeout, n.options.Logger, panicked, slog.String("channel", m.inUse()), f)
}

// messageOf is what the channel gets for this call.
func (n sender) messageOf(row *messageRow, p parcel) channel.Message {
	m := row.message()
	m.To = cmp.Or(p.to[row], m.To)
	m.Mail = p.letters[row]
	m.UnsubscribeURL = cmp.Or(row.Content.UnsubscribeURL, n.contacts().unsubscribeURL(row))
	m.Text, m.HTML = linked(m.Text, m.HTML, m.UnsubscribeURL)
	m.Attachments = p.files.of(row)
	return p.answers.complete(row, m)
}

// message is what is stored of it.
func (m *messageRow) message() channel.Message {
	return channel.Message{
		ID: m.MessageID, Channel: m.inUse(), To: m.Address, Name: m.RecipientName,
		Subject: m.Content.Subject, Text: m.Content.Text, HTML: m.Content.HTML,
		Locale: m.Content.Locale, Attempt: m.CallsBefore + m.Calls, On: m.CallStartedOn,
		Template: m.Content.Template, Metadata: m.Content.Metadata,
		CollapseKey: m.Content.CollapseKey, ValidUntil: m.ValidUntil,
	}
}
