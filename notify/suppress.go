package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// Suppress stops messages to addresses of a tenant, for instance those of a list
// that is taken over from elsewhere; at most 1000 in one call. Addresses that are
// suppressed for that reason already stay as they are. Who did it and why is in
// the audit, in the same transaction. An address that its method cannot deliver
// to is an error that says which argument, and nothing is written.
func (n *Notifier) Suppress(ctx context.Context, scope Scope, reason SuppressionReason, by By, to ...Destination) error {
	if err := by.Check(); err != nil {
		return err
	}
	if scope == storage.AnyScope {
		return errAnyScope
	}
	if !slices.Contains(strongest, reason) {
		return fmt.Errorf("notify: %q is no reason to suppress an address", string(reason))
	}
	if len(to) > maxPage {
		return fmt.Errorf("notify: %d addresses to suppress at once, more than %d", len(to), maxPage)
	}
	list := make([]Destination, len(to))
	for i, d := range to {
		address, err := normalise(d.Method, d.Address)
		if err != nil {
			return fmt.Errorf("notify: Suppress, destination %d: %w", i+1, err)
		}
		list[i] = Destination{d.Method, address}
	}
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		return n.suppressBy(ctx, tx, scope, reason, by, list)
	})
}

func (n *Notifier) suppressBy(ctx context.Context, tx storage.Tx, scope Scope, reason SuppressionReason, by By, list []Destination) error {
	now := storage.Now(n.store)
	rows := make([]*Suppression, len(list))
	for i, d := range list {
		rows[i] = n.suppression(scope, d, reason, now, SourceSupport, "")
	}
	if _, err := n.beginHashKey(ctx, tx); err != nil { // a gate without this key is to fail, not to find nobody
		return err
	}
	done, err := suppressions.Ensure(ctx, tx, renew, rows...)
	if err != nil {
		return err
	}
	var entries []*audit.Entry
	for _, d := range done {
		if d.Outcome == storage.Unchanged {
			continue
		}
		from := ""
		if d.Outcome == storage.Reactivated {
			from = StatusLifted
		}
		entries = append(entries, &audit.Entry{
			Record: storage.Record{Scope: scope}, Subject: suppressions.Name, SubjectKey: d.Row.Key, SubjectID: d.Row.ID, SubjectVersion: d.Row.Version,
			Action: "Suppress", Actor: by.Actor, Reason: by.Reason, From: from, To: StatusActive, On: now,
		})
	}
	if len(entries) == 0 {
		return nil
	}
	return audit.Write(ctx, tx, entries...)
}

// Unsuppress lifts all suppressions of an address, since the recipient asked for
// messages again, or the mailbox exists. Who did it and why is in the audit. A
// provider's own list is not changed by it. An address that is not suppressed is
// an [ErrActionRefused].
func (n *Notifier) Unsuppress(ctx context.Context, scope Scope, to Destination, by By) error {
	if scope == storage.AnyScope {
		return errAnyScope
	}
	address, err := normalise(to.Method, to.Address)
	if err != nil {
		return fmt.Errorf("notify: Unsuppress: %w", err)
	}
	places := n.suppressionsOf(scope, to.Method, address)
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		return lift(ctx, tx, scope, places, by)
	})
}

func lift(ctx context.Context, tx storage.Tx, scope Scope, places []place, by By) error {
	found, err := loadPlaces(ctx, tx, suppressions, places)
	if err != nil {
		return err
	}
	lifted := 0
	for _, p := range places {
		if s := found[p]; s == nil || s.Status != StatusActive {
			continue
		}
		if err := audit.Change(ctx, tx, suppressions, scope, p.key, "Unsuppress", by, (*Suppression).lift); err != nil {
			return err
		}
		lifted++
	}
	if lifted == 0 {
		return fmt.Errorf("%w: the address is not suppressed", ErrActionRefused)
	}
	return nil
}
