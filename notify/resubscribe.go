package notify

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// resubscribe lifts what providers told of recipients who have come back to them: an
// unsubscription that is no younger, and never a bounce or a complaint.
func (n tracker) resubscribe(ctx context.Context, tx storage.Tx, facts []newFact) error {
	for _, f := range facts {
		m := f.message
		if f.event.StatusKind != channel.KindResubscribed || m.Redirected || m.IsTombstone() {
			continue
		}
		if err := n.noteReturn(ctx, tx, m, f.event); err != nil {
			return err
		}
		var places []driver.ScopedKey
		for _, hash := range n.addressHashes(m.Method, m.Address) {
			places = append(places, driver.ScopedKey{Scope: m.Scope, Key: suppressionKey(hash, channel.Unsubscribe)})
		}
		err := driver.RetryStale("a recipient's return: the suppression", func() error {
			found, err := suppressions.GetMany(ctx, tx, places)
			if err != nil {
				return err
			}
			for _, at := range places {
				if err := n.liftReturned(ctx, tx, found[at], f.event); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noteReturn keeps a return of which no unsubscription is known yet: an older one may come
// later.
func (n tracker) noteReturn(ctx context.Context, tx storage.Tx, m *messageRow, e *deliveryEvent) error {
	row := n.suppression(m.Scope, Destination{m.Method, m.Address}, channel.Unsubscribe, e.On, e.Kind, m.MessageID)
	row.Status = statusLifted
	_, err := suppressions.Insert(ctx, tx, row)
	return err
}

// liftReturned lifts an unsubscription, if it is of the provider that the recipient came
// back to and no younger. What the provider told before counts no more from then on.
func (n tracker) liftReturned(ctx context.Context, tx storage.Tx, s *suppressionRow, e *deliveryEvent) error {
	if s == nil || s.Source != e.Kind || s.Since.After(e.On) || s.Status != statusActive && s.Since.Equal(e.On) {
		return nil
	}
	before := s.Status
	if before == statusActive {
		s.lift(e.On)
	}
	s.Since = e.On
	if err := suppressions.Save(ctx, tx, s); err != nil || before != statusActive {
		return err
	}
	return audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: s.Scope}, Subject: suppressions.Name, SubjectKey: s.Key, SubjectID: s.ID, SubjectVersion: s.Version,
		Action: "Unsuppress", ByProgram: true, Actor: "callback", Reason: string(e.StatusKind) + " at " + e.Kind,
		From: statusActive, To: statusLifted, On: driver.Now(n.store),
	})
}

// returned applies an event that names an address and no message: the owner of a number
// has sent START. It counts for the tenant whose own account it came to, and of a shared
// account for all whose messages that provider had told of.
func (n tracker) returned(ctx context.Context, e channel.StatusEvent) (rep TrackReport, err error) {
	address, err := spelling.Of(e.Method, string(e.Address))
	if err != nil {
		return TrackReport{Refused: 1}, nil
	}
	err = n.inTx(ctx, nil, func(tx storage.Tx) error {
		row, err := newEvent(e, driver.Now(n.store))
		if err != nil {
			return err
		}
		row.matched()
		row.AddressHash = n.addressHash(e.Method, address)
		isNew, err := deliveryEvents.Insert(ctx, tx, row)
		if err != nil || !isNew[0] {
			rep = TrackReport{Repeated: 1}
			return err
		}
		rep = TrackReport{Applied: 1}
		return n.applyReturn(ctx, tx, row, n.addressHashes(e.Method, address))
	})
	return rep, err
}

// applyReturn lifts the unsubscriptions of an address, and tells of the messages that they
// were about.
func (n tracker) applyReturn(ctx context.Context, tx storage.Tx, e *deliveryEvent, hashes []string) error {
	left := []driver.Cond{driver.In("address_hash", hashes), driver.Eq("reason", string(channel.Unsubscribe)), driver.Eq("status", statusActive), driver.Eq("source", e.Kind)}
	var ids []string
	err := driver.RetryStale("a recipient's return: the suppressions", func() (err error) {
		ids = nil
		var rows []*suppressionRow
		if q := (driver.Query{Where: left, Limit: maxPage}); e.Scope != "" {
			rows, err = suppressions.Find(ctx, tx, e.Scope, q)
		} else {
			rows, err = suppressions.Everywhere().Find(ctx, tx, q)
		}
		for _, s := range rows {
			if err == nil && !s.Since.After(e.On) {
				ids = append(ids, s.MessageID)
				err = n.liftReturned(ctx, tx, s, e)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	messages, err := messagesByID(ctx, tx, slices.DeleteFunc(ids, func(id string) bool { return id == "" }))
	if err != nil {
		return err
	}
	var changes []StatusChange
	for _, m := range messages {
		changes = append(changes, returnOf(m, e))
	}
	return emitChanges(ctx, tx, changes)
}
