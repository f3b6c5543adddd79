package notify

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
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

// trackerRules say that events go after that.
func trackerRules() []sweep.Rule {
	month := func(time.Duration) time.Duration { return rememberEvents }
	return []sweep.Rule{
		sweep.Retention[deliveryEvent]{
			Table: deliveryEvents, Silent: true, After: month,
			Created: func(e *deliveryEvent) time.Time { return e.ReceivedOn },
			Old:     func(before time.Time) []driver.Cond { return atRest("received_on", before) },
		}.Rule(),
	}
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

// reports tells whether an event is about a message that its account has sent: it names
// both ids, or is of the provider of one of the message's channels. Callbacks of others are
// not about it, whatever they say.
func (n tracker) reports(m *messageRow, e *deliveryEvent) bool {
	if !m.sentThrough(e.Scope) {
		return false
	}
	if e.MessageID != "" && m.ProviderMessageID != "" && m.ProviderMessageID == e.ProviderMessageID {
		return true
	}
	if e.MessageID == "" { // of the channel in use, whose id it is
		return n.reporter(m.inUse()) == e.Kind
	}
	keys := []string{m.Kind, m.Via}
	for _, w := range n.registry.channels[m.Kind] {
		keys = append(keys, w.name)
	}
	return slices.ContainsFunc(keys, func(key string) bool { return key != "" && n.reporter(key) == e.Kind })
}

// sentThrough reports whether the last call went through an account: a tenant's own, or,
// without one, those that tenants share. A message that was not called, as far as the
// database knows, may have gone through either.
func (m *messageRow) sentThrough(account Scope) bool {
	switch {
	case m.OwnAccount:
		return m.Scope == account
	case account == "":
		return true
	}
	return m.Calls == 0 && m.Scope == account
}

// reporter is the provider that reports about a channel.
func (n tracker) reporter(key string) string {
	if c, ok := n.registry.members[key].(Reported); ok {
		return c.ReportedBy()
	}
	return cmp.Or(n.options.ReportedBy[key], transport(key))
}

// findMessages finds the messages that events are about: by our id, else by the
// provider's. Our ids cannot be guessed, and are looked up across tenants, since a callback
// does not name one. A provider only speaks of messages that the account may have sent.
func (n tracker) findMessages(ctx context.Context, from driver.Reader, events []*deliveryEvent) (map[*deliveryEvent]*messageRow, error) {
	found := make(map[*deliveryEvent]*messageRow, len(events))
	var ids []string
	byAccount := map[Scope][]*deliveryEvent{}
	for _, e := range events {
		switch {
		case e.returned != nil: // it names no message
		case e.MessageID != "":
			ids = append(ids, e.MessageID)
		default:
			byAccount[e.Scope] = append(byAccount[e.Scope], e)
		}
	}
	messages, err := messagesByID(ctx, from, ids)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if m := messages[e.MessageID]; m != nil && n.reports(m, e) {
			found[e] = m
		}
	}
	for account, asked := range byAccount {
		if err := n.findByProvider(ctx, from, account, asked, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// maxNamesakes is how many messages of an account may have one id of a provider, in the
// mean, until some are not looked at.
const maxNamesakes = 10

// findByProvider adds the messages of events of one account that bring only the provider's
// id. Where several messages have it, it is none of them: it cannot be told which.
func (n tracker) findByProvider(ctx context.Context, from driver.Reader, account Scope, events []*deliveryEvent, found map[*deliveryEvent]*messageRow) error {
	asked := map[string][]*deliveryEvent{}
	for _, e := range events {
		asked[e.ProviderMessageID] = append(asked[e.ProviderMessageID], e)
	}
	rows, err := messagesOf(ctx, from, account, slices.Collect(maps.Keys(asked)))
	if err != nil {
		return err
	}
	of := map[*deliveryEvent]int{}
	for _, m := range rows {
		for _, e := range asked[m.ProviderMessageID] {
			if n.reports(m, e) {
				found[e] = m
				of[e]++
			}
		}
	}
	for e, messages := range of {
		if messages > 1 {
			delete(found, e)
		}
	}
	return nil
}

// messagesOf reads the messages of an account by their providers' ids, in one statement:
// of a tenant's own those of the tenant, of what tenants share those of all.
func messagesOf(ctx context.Context, from driver.Reader, account Scope, ids []string) ([]*messageRow, error) {
	q := driver.Query{
		Columns: tracking, Where: []driver.Cond{driver.In("provider_message_id", ids)},
		Limit: maxNamesakes * len(ids), Unordered: true,
	}
	if account != "" {
		q.Where = append(q.Where, driver.Eq("own_account", true))
		return outgoingMessages.Find(ctx, from, account, q)
	}
	return outgoingMessages.Everywhere().Find(ctx, from, q)
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
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	rows, err := outgoingMessages.Everywhere().Find(ctx, from, driver.Query{
		Columns: tracking, Where: []driver.Cond{driver.In("message_id", ids)}, Limit: len(ids),
	})
	for _, m := range rows {
		found[m.MessageID] = m
	}
	return found, err
}
