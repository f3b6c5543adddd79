package notify

import (
	"context"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// resubscribe lifts what providers told of recipients who have come back to them: an
// unsubscription from the same account and list that is no younger, and never a bounce or
// a complaint.
func (n tracker) resubscribe(ctx context.Context, tx storage.Tx, facts []newFact) error {
	var first []*suppressionRow // of whom no unsubscription is known: an older one may come later
	var places []driver.ScopedKey
	words := map[driver.ScopedKey][]said{}
	for _, f := range facts {
		m := f.message
		if f.event.StatusKind != channel.KindResubscribed || m.Redirected || m.IsTombstone() {
			continue
		}
		w := f.event.said(m)
		first = append(first, n.suppression(m.Scope, Destination{m.Method, m.Address}, channel.Unsubscribe, w))
		for _, hash := range n.addressHashes(m.Method, m.Address) {
			at := driver.ScopedKey{Scope: m.Scope, Key: suppressionKey(hash, channel.Unsubscribe)}
			places, words[at] = append(places, at), append(words[at], w)
		}
	}
	if len(first) == 0 {
		return nil
	}
	if _, err := suppressions.Insert(ctx, tx, first...); err != nil {
		return err
	}
	return driver.RetryStale("a recipient's return: the suppression", func() error {
		found, err := suppressions.GetMany(ctx, tx, places)
		if err != nil {
			return err
		}
		return n.takeBack(ctx, tx, slices.Collect(maps.Values(found)), func(s *suppressionRow) (changed bool) {
			for _, w := range words[driver.ScopedKey{Scope: s.Scope, Key: s.Key}] {
				changed = s.hear(w) || changed
			}
			return changed
		})
	})
}

// takeBack saves the suppressions that have heard of a return, and audits those that it has
// lifted.
func (n tracker) takeBack(ctx context.Context, tx storage.Tx, rows []*suppressionRow, hear func(*suppressionRow) (changed bool)) error {
	var save, lifted []*suppressionRow
	for _, s := range rows {
		before := s.Status
		if hear(s) {
			save = append(save, s)
		}
		if s.Status != before {
			lifted = append(lifted, s)
		}
	}
	if err := suppressions.Save(ctx, tx, save...); err != nil {
		return err
	}
	entries := make([]*audit.Entry, len(lifted))
	for i, s := range lifted {
		entries[i] = &audit.Entry{
			Record: storage.Record{Scope: s.Scope}, Subject: suppressions.Name, SubjectKey: s.Key, SubjectID: s.ID, SubjectVersion: s.Version,
			Action: "Unsuppress", ByProgram: true, Actor: "callback", Reason: string(channel.KindResubscribed) + " at " + s.Source,
			From: statusActive, To: statusLifted, On: driver.Now(n.store),
		}
	}
	return audit.Write(ctx, tx, entries...)
}

// returned applies events that name an address and no message: the owner of a number has
// sent START. They count for the account that they came to: a tenant's own, or one that
// tenants share, and then for all whose messages went through it.
func (n tracker) returned(ctx context.Context, tx storage.Tx, events []*deliveryEvent) error {
	byAccount := map[Scope]map[string][]*deliveryEvent{}
	for _, e := range events {
		if byAccount[e.Scope] == nil {
			byAccount[e.Scope] = map[string][]*deliveryEvent{}
		}
		for _, hash := range e.returned {
			byAccount[e.Scope][hash] = append(byAccount[e.Scope][hash], e)
		}
	}
	for account, of := range byAccount {
		if err := n.returnedTo(ctx, tx, account, of); err != nil {
			return err
		}
	}
	return nil
}

// returnedTo applies the returns to one account, by the hashes of their addresses, and tells
// of the messages that the unsubscriptions were about.
func (n tracker) returnedTo(ctx context.Context, tx storage.Tx, account Scope, of map[string][]*deliveryEvent) error {
	hashes := slices.Sorted(maps.Keys(of))
	q := driver.Query{Limit: maxPage, Where: []driver.Cond{
		driver.In("address_hash", hashes), driver.Eq("reason", string(channel.Unsubscribe)), driver.Eq("status", statusActive),
	}}
	for {
		var rows []*suppressionRow
		var back map[string]*deliveryEvent
		err := driver.RetryStale("a recipient's return: the suppressions", func() (err error) {
			if account != "" {
				rows, err = suppressions.Find(ctx, tx, account, q)
			} else {
				rows, err = suppressions.Everywhere().Find(ctx, tx, q)
			}
			if err != nil {
				return err
			}
			back = map[string]*deliveryEvent{}
			return n.takeBack(ctx, tx, rows, func(s *suppressionRow) bool { return s.cameBack(of[s.AddressHash], back) })
		})
		if err == nil {
			err = tellReturns(ctx, tx, back)
		}
		if err != nil || len(rows) < q.Limit {
			return err
		}
		q.After = &driver.Position{ID: rows[len(rows)-1].ID}
	}
}

// cameBack takes in the returns of its address, and notes by which of them each message that
// it was about is told of.
func (s *suppressionRow) cameBack(events []*deliveryEvent, back map[string]*deliveryEvent) (changed bool) {
	for _, e := range events {
		for _, w := range s.Said {
			account := e.Scope == ""
			if w.Own {
				account = e.Scope == s.Scope
			}
			if !account || !w.Against || w.Source != e.Kind || w.List != e.List {
				continue
			}
			w.Against, w.On = false, e.On
			if s.hear(w) {
				changed, back[w.MessageID] = true, e
			}
		}
	}
	return changed
}

func tellReturns(ctx context.Context, tx storage.Tx, back map[string]*deliveryEvent) error {
	delete(back, "")
	ids := slices.Sorted(maps.Keys(back))
	messages, err := messagesByID(ctx, tx, ids)
	if err != nil {
		return err
	}
	var changes []StatusChange
	for _, id := range ids {
		if m := messages[id]; m != nil {
			changes = append(changes, returnOf(m, back[id]))
		}
	}
	return emitChanges(ctx, tx, changes)
}
