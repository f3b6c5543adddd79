package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// looked is what the tracker decided about a row: events whose message is known
// now, or rows that are old enough to be deleted.
type looked struct {
	events   []*deliveryEvent
	receipts []*messageReceipt
}

// trackerPass looks again for the messages of events that came before them, and
// deletes each hour what is older than a month.
func (n tracker) trackerPass() work.Pass {
	return work.Prepared(work.New(n.store, work.Spec[deliveryEvent, looked]{
		Name: "notify.tracker", Table: deliveryEvents,
		Claimable: []string{statusWaiting, statusSweep}, Group: 500,
		Handle:   n.lookAgain,
		Dispatch: n.applyFound,
		Fail:     func(now time.Time, e *deliveryEvent, _ error) { e.DueOn = now.Add(matchWaits[0]) },
		Abandon:  func(now time.Time, e *deliveryEvent) { e.DueOn = now },
		Release:  func(now time.Time, e *deliveryEvent) { e.DueOn = now },
	}), n.prepareSweep)
}

// lookAgain gets rows of one type: the sweep, or events of one provider.
func (n tracker) lookAgain(ctx context.Context, items []work.Item[deliveryEvent]) (out []looked, err error) {
	out = make([]looked, len(items))
	now := driver.Now(n.store)
	if items[0].Row.Status == statusSweep {
		out[0], err = n.findOld(ctx, now, items[0].Row)
		return out, err
	}
	events := make([]*deliveryEvent, len(items))
	for i, it := range items {
		events[i] = it.Row
	}
	var found map[*deliveryEvent]*messageRow
	err = n.store.View(ctx, func(from driver.Reader) error {
		found, err = n.findMessages(ctx, from, events)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if found[e] != nil {
			e.matched()
		} else {
			e.unmatched(now)
		}
	}
	return out, nil
}

// applyFound applies matched events with the transaction that settles them.
func (n tracker) applyFound(ctx context.Context, tx storage.Tx, done []work.Done[deliveryEvent, looked]) error {
	var events []*deliveryEvent
	for _, d := range done {
		switch d.Row.Status {
		case statusMatched:
			events = append(events, d.Row)
		case statusSweep:
			if err := deleteOld(ctx, tx, d.Result); err != nil {
				return err
			}
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

const (
	// rememberEvents is how long an event is known again: providers repeat their
	// callbacks for hours, some for a week.
	rememberEvents = 30 * 24 * time.Hour
	sweepEvery     = time.Hour
	// sweepBatch is how many rows of a table are deleted at once.
	sweepBatch = 1000

	// statusSweep is that of the one row that makes the sweep due.
	statusSweep = "Sweep"
)

// prepareSweep makes the row whose due moment is the next sweep.
func (n tracker) prepareSweep(ctx context.Context) error {
	return n.store.InTx(ctx, func(tx storage.Tx) error {
		_, err := deliveryEvents.Insert(ctx, tx, &deliveryEvent{
			Record: storage.Record{Key: statusSweep, Status: statusSweep, DueOn: driver.Now(n.store).Add(sweepEvery)},
		})
		return err
	})
}

// findOld reads the oldest rows. If all of them are to go, there may be more, and
// the sweep goes on at once.
func (n tracker) findOld(ctx context.Context, now time.Time, sweep *deliveryEvent) (old looked, err error) {
	before := now.Add(-rememberEvents)
	err = n.store.View(ctx, func(from driver.Reader) error {
		old.events, err = oldest(ctx, from, deliveryEvents, "received_on", func(e *deliveryEvent) bool {
			return e.Status != statusSweep && e.DueOn.IsZero() && e.ReceivedOn.Before(before)
		})
		if err != nil {
			return err
		}
		old.receipts, err = oldest(ctx, from, messageReceipts, "created_on", func(r *messageReceipt) bool { return r.CreatedOn.Before(before) })
		return err
	})
	sweep.DueOn = now.Add(sweepEvery)
	if max(len(old.events), len(old.receipts)) >= sweepBatch-1 {
		sweep.DueOn = now
	}
	return old, err
}

// oldest reads the first rows of a table, which were inserted first or nearly so,
// and gives those that may go: no index on a time is needed for it.
func oldest[R any](ctx context.Context, from driver.Reader, t *driver.Table[R], on string, gone func(*R) bool) ([]*R, error) {
	rows, err := t.Find(ctx, from, "", driver.Query{Columns: []string{"version", "status", "due_on", on}, Limit: sweepBatch})
	var old []*R
	for _, r := range rows {
		if gone(r) {
			old = append(old, r)
		}
	}
	return old, err
}

// deleteOld deletes rows; what another sweep has deleted is gone already.
func deleteOld(ctx context.Context, tx storage.Tx, old looked) error {
	for _, err := range []error{deliveryEvents.Delete(ctx, tx, old.events...), messageReceipts.Delete(ctx, tx, old.receipts...)} {
		if err != nil && !errors.Is(err, storage.ErrStale) {
			return err
		}
	}
	return nil
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
