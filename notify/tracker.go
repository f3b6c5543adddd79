package notify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// trackerPass looks again for the messages of events that came before them.
func (n tracker) trackerPass() work.Pass {
	return work.New(n.store, work.Spec[deliveryEvent, struct{}]{
		Name: "notify.tracker", Table: deliveryEvents,
		Claimable: []string{statusWaiting}, Group: 500,
		Handle:   n.lookAgain,
		Dispatch: n.applyFound,
		Fail:     func(now time.Time, e *deliveryEvent, _ error) { e.DueOn = now.Add(matchWaits[0]) },
		Abandon:  func(now time.Time, e *deliveryEvent) { e.DueOn = now },
		Release:  func(now time.Time, e *deliveryEvent) { e.DueOn = now },
	})
}

// lookAgain gets events of one provider.
func (n tracker) lookAgain(ctx context.Context, items []work.Item[deliveryEvent]) ([]struct{}, error) {
	events := make([]*deliveryEvent, len(items))
	for i, it := range items {
		events[i] = it.Row
	}
	var found map[*deliveryEvent]*messageRow
	err := n.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = n.findMessages(ctx, from, events)
		return err
	})
	if err != nil {
		return nil, err
	}
	now := driver.Now(n.store)
	for _, e := range events {
		if found[e] != nil {
			e.matched()
		} else {
			e.unmatched(now)
		}
	}
	return make([]struct{}, len(items)), nil
}

// applyFound applies matched events with the transaction that settles them.
func (n tracker) applyFound(ctx context.Context, tx storage.Tx, done []work.Done[deliveryEvent, struct{}]) error {
	var events []*deliveryEvent
	for _, d := range done {
		if d.Row.Status == statusMatched {
			events = append(events, d.Row)
		}
	}
	if len(events) == 0 {
		return nil
	}
	found, err := n.findMessages(ctx, tx, events)
	if err != nil {
		return err
	}
	var there []*deliveryEvent
	for _, e := range events {
		if found[e] != nil {
			there = append(there, e)
		}
	}
	return n.applyEvents(ctx, tx, there, found)
}

// rememberEvents is how long an event is known again: providers repeat their callbacks for
// hours, some for a week.
const rememberEvents = 30 * 24 * time.Hour

// trackerRules say that events go after that, and receipts, by which they find messages.
func trackerRules() []sweep.Rule {
	month := func(time.Duration) time.Duration { return rememberEvents }
	return []sweep.Rule{
		sweep.Retention[deliveryEvent]{
			Table: deliveryEvents, Silent: true, After: month,
			Created: func(e *deliveryEvent) time.Time { return e.ReceivedOn },
			Old:     func(before time.Time) []driver.Cond { return atRest("received_on", before) },
		}.Rule(),
		sweep.Retention[messageReceipt]{
			Table: messageReceipts, Silent: true, After: month,
			Created: func(r *messageReceipt) time.Time { return r.CreatedOn },
			Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("created_on", before)} },
		}.Rule(),
	}
}

// StatusByReceipt is implemented by a channel whose provider names a message in
// its callbacks by the ID of the [channel.Receipt] only. For such a channel one more row is
// written with each message that was accepted; a callback that comes before that
// is matched a minute later. Better is a channel whose provider gives
// [channel.Message].ID back, in a field of its own or in the address that it calls.
type StatusByReceipt interface {
	// StatusProvider is the Provider of the [channel.Webhook] that reports about messages
	// of this channel.
	StatusProvider() string
}

// messageReceipt tells which message a provider means by an id of its own. The
// provider gave the id, so the Scope is empty.
type messageReceipt struct {
	storage.Record        // Type: the provider
	MessageID      string `db:"message_id,fixed,plain"`
	// CreatedOn says when the row may be deleted.
	CreatedOn time.Time `db:"created_on,fixed"`
}

var messageReceipts = driver.Define[messageReceipt]("message_receipt").Grows(driver.WithWork).
	Kept("a month", "callbacks find their message by it")

func receiptKey(provider, id string) (string, error) {
	return keys.Join(provider, hashOf("belfry-receipt-1", id))
}

// keepReceipts keeps the providers' ids of messages, where callbacks need them, in
// the transaction that has settled the messages.
func (n tracker) keepReceipts(ctx context.Context, tx storage.Tx, rows []*messageRow) error {
	now := driver.Now(n.store)
	var keep []*messageReceipt
	for _, m := range rows {
		c, ok := n.registry.member(m).(StatusByReceipt)
		if !ok || m.ProviderMessageID == "" {
			continue
		}
		key, err := receiptKey(c.StatusProvider(), m.ProviderMessageID)
		if err != nil {
			return err
		}
		keep = append(keep, &messageReceipt{
			Record: storage.Record{Key: key, Kind: c.StatusProvider()}, MessageID: m.MessageID, CreatedOn: now,
		})
	}
	_, err := messageReceipts.Insert(ctx, tx, keep...)
	return err
}

// namedByReceipts gives our ids of those events that bring only the provider's.
func namedByReceipts(ctx context.Context, from driver.Reader, events []*deliveryEvent) (map[*deliveryEvent]string, error) {
	named := make(map[*deliveryEvent]string, len(events))
	wanted := map[string][]*deliveryEvent{}
	var list []string
	for _, e := range events {
		if e.MessageID != "" {
			continue
		}
		key, err := receiptKey(e.Kind, e.ProviderMessageID)
		if err != nil {
			return nil, err
		}
		if wanted[key] == nil {
			list = append(list, key)
		}
		wanted[key] = append(wanted[key], e)
	}
	if len(list) == 0 {
		return named, nil
	}
	rows, err := messageReceipts.Find(ctx, from, "", driver.Query{Where: []driver.Cond{driver.In("key", list)}, Limit: len(list)})
	for _, r := range rows {
		for _, e := range wanted[r.Key] {
			named[e] = r.MessageID
		}
	}
	return named, err
}

// Reported is implemented by a channel whose provider reports under another name than
// the one behind the colon of the channel's key: "email:campus" by "sendgrid". Where
// callbacks come in without such a channel, or it comes from a [ChannelSource],
// Options.ReportedBy says so.
type Reported interface {
	// ReportedBy is the Provider of the [channel.Webhook] that reports about messages of this
	// channel.
	ReportedBy() string
}

// reports tells whether an event comes from one that the message may have been sent
// by: it names the id of the receipt, or is of the provider of one of the message's
// channels. Callbacks of others are not about it, whatever they say.
func (n tracker) reports(m *messageRow, e *deliveryEvent) bool {
	if m.ProviderMessageID != "" && m.ProviderMessageID == e.ProviderMessageID {
		return true
	}
	keys := []string{m.Kind, m.Via}
	for _, w := range n.registry.channels[m.Kind] {
		keys = append(keys, w.name)
	}
	return slices.ContainsFunc(keys, func(key string) bool { return key != "" && n.reporter(key) == e.Kind })
}

// reporter is the provider that reports about a channel.
func (n tracker) reporter(key string) string {
	switch c := n.registry.members[key].(type) {
	case Reported:
		return c.ReportedBy()
	case StatusByReceipt:
		return c.StatusProvider()
	}
	return cmp.Or(n.options.ReportedBy[key], transport(key))
}

// findMessages finds the messages that events are about: by our id, else by the
// provider's, if the channel that sent it has left a receipt. Our ids cannot be
// guessed, and are looked up across tenants, since a callback does not name one. A
// provider only speaks of messages that its own channels may have sent.
func (n tracker) findMessages(ctx context.Context, from driver.Reader, events []*deliveryEvent) (map[*deliveryEvent]*messageRow, error) {
	named, err := namedByReceipts(ctx, from, events)
	if err != nil {
		return nil, err
	}
	var ids []string
	seen := map[string]bool{}
	for _, e := range events {
		if e.MessageID != "" {
			named[e] = e.MessageID
		}
		if id := named[e]; id != "" && !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
	}
	messages, err := messagesByID(ctx, from, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[*deliveryEvent]*messageRow, len(events))
	for e, id := range named {
		if m := messages[id]; m != nil && n.reports(m, e) {
			found[e] = m
		}
	}
	return found, nil
}

// tracking are the columns of a message that a callback can matter to: all but
// what it says, which may be large.
var tracking = func() (names []string) {
	for _, c := range outgoingMessages.Columns {
		if c.Name != "content" {
			names = append(names, c.Name)
		}
	}
	return names
}()

// messagesByID reads messages by their MessageIDs, in one statement.
func messagesByID(ctx context.Context, from driver.Reader, ids []string) (map[string]*messageRow, error) {
	found := make(map[string]*messageRow, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := outgoingMessages.Everywhere().Find(ctx, from, driver.Query{
		Columns: tracking, Where: []driver.Cond{driver.In("message_id", ids)}, Limit: len(ids),
	})
	for _, m := range rows {
		found[m.MessageID] = m
	}
	return found, err
}
