package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// sendable are the stages of messages that SendTo takes: what is still to go out, and what
// nobody knows of, would come twice.
var sendable = []Stage{StageSent, StageArrived, StageFailed, StageBlocked, StageExpired}

// SendTo sends a message once more, to another address of its recipient: since the first
// was wrong, or its mailbox does not exist. It makes another message of the same content,
// with the next AttemptNo, and leaves the first one, and what is known of its address, as
// they are. It is asked about like every other: the type's revalidator, the gates. key is
// the Key of the row; the answer is the new message.
//
// Like Release it is audited, and returns storage.ErrNotFound where scope has no such key.
// It is refused ([ErrActionRefused]) for an address that the method cannot deliver to, that
// is the message's own, or that is suppressed, for a message that was sent there before,
// that was skipped, or that is still to go out or in doubt.
func (n Support) SendTo(ctx context.Context, scope Scope, key, address string, by By) (out OutgoingMessage, err error) {
	if err := by.Check(); err != nil {
		return out, err
	}
	refuse := func(why string) error { return fmt.Errorf("notify: %w: SendTo of %s: %s", ErrActionRefused, key, why) }
	err = n.inTx(ctx, nil, func(tx storage.Tx) error {
		m, err := outgoingMessages.Get(ctx, tx, scope, key)
		if err != nil {
			return fmt.Errorf("notify: SendTo of %s: %w", key, err)
		}
		to, err := spelling.Of(m.Method, address)
		switch {
		case err != nil || to == "":
			return refuse("that is not an address for " + m.Method)
		case m.IsTombstone():
			return refuse("it was forgotten")
		case to == m.Address:
			return refuse("it went to that address already")
		case !slices.Contains(sendable, stage(m.Status, m.IsOnSupportHold, m.ReasonCode)):
			return refuse("it is " + m.Status + ", and is not sent again")
		}
		again := *m
		again.Address, again.RecipientHash, again.HashKey = to, n.recipientHash(m.RecipientRef, m.Method, to), n.hashKey
		again.AttemptNo++
		again.RowKey, again.MessageID, again.CreatedOn = "", "", driver.Now(n.store)
		if err := n.begin(&again, StatusCreated); err != nil {
			return err
		}
		again.NextRetryOn = again.CreatedOn // it waited, so it is revalidated
		again.ValidUntil = time.Time{}      // a person wants it sent
		return n.sendTo(ctx, tx, m, &again, by, refuse, &out)
	})
	return out, err
}

// sendTo stores the new message, and writes the first one too, so that a callback which
// comes between is not overlooked.
func (n Support) sendTo(ctx context.Context, tx storage.Tx, m, again *messageRow, by By, refuse func(string) error, out *OutgoingMessage) error {
	a := n.sender().attempt(again)
	reasons, err := n.contacts().suppressed(ctx, tx, []Attempt{a})
	if err != nil {
		return err
	}
	if stops(reasons[0], &a) {
		return refuse("messages to that address are stopped")
	}
	found, err := outgoingMessages.GetMany(ctx, tx, []driver.ScopedKey{{Scope: again.Scope, Key: again.Key}})
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return refuse(triedAgain)
	}
	if err := outgoingMessages.Save(ctx, tx, m); err != nil {
		if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
			return refuse(changedSince)
		}
		return err
	}
	if _, _, err := outgoingKind.ensureIn(ctx, tx, []*messageRow{again}); err != nil {
		return err
	}
	*out = again.view()
	return audit.Write(ctx, tx, audited(m, "SendTo", by, m.Status, driver.Now(n.store)))
}

// SuppressionsOf lists what is in force against some addresses of a scope, at most a
// hundred: for each of them, in their order, the one that stops most, or none, whose Reason
// is empty. An address that its method cannot deliver to has none.
func (n Contacts) SuppressionsOf(ctx context.Context, scope Scope, to ...Destination) ([]Suppression, error) {
	if len(to) > driver.DefaultPage {
		return nil, fmt.Errorf("notify: SuppressionsOf: %d addresses, more than %d", len(to), driver.DefaultPage)
	}
	asked := make([][]driver.ScopedKey, len(to))
	var all []driver.ScopedKey
	for i, d := range to {
		if address, err := spelling.Of(d.Method, d.Address); err == nil {
			asked[i] = n.suppressionsOf(scope, d.Method, address)
			all = append(all, asked[i]...)
		}
	}
	var found map[driver.ScopedKey]*suppressionRow
	err := n.read(ctx, nil, func(from driver.Reader) (err error) {
		found, err = suppressions.GetMany(ctx, from, all)
		return err
	})
	out := make([]Suppression, len(to))
	for i := range to {
		for _, at := range asked[i] {
			if s := found[at]; out[i].Reason == channel.SuppressionReason("") && s != nil && s.Status == statusActive {
				out[i] = s.view()
			}
		}
	}
	return out, err
}
