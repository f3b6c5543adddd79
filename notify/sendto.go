package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// sendable are the stages of messages that SendTo takes: what is still to go out, and what
// has an unknown outcome, would come twice.
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
// that was skipped, or that is still to go out or in doubt, and where the recipient has
// left, or has complained: a bounce of the first address is what it is for.
func (n Support) SendTo(ctx context.Context, scope Scope, key, address string, by By) (out OutgoingMessage, err error) {
	if err := n.rightHashKey(ctx, nil); err != nil {
		return out, err
	}
	b := bulk{n, "SendTo", scope, false, driver.Query{Where: []driver.Cond{driver.Eq("key", key)}, Limit: 1}, by, false}
	report, err := b.run(ctx, nil, func(tx storage.Tx, rows []*messageRow) ([]Acted, error) {
		if len(rows) == 0 {
			return nil, nil
		}
		to, _ := spelling.Of(rows[0].Method, address)
		next, done, err := b.nextAttempts(rows, func(again *messageRow) {
			again.Address, again.RecipientHash, again.HashKey = to, n.recipientHash(again.RecipientRef, again.Method, to), n.hashKey
			again.ValidUntil = time.Time{} // a person wants it sent
		})
		if err != nil {
			return nil, err
		}
		why, err := n.notTo(ctx, tx, rows[0], next[0])
		if err != nil {
			return nil, err
		}
		done[0].refuse(why)
		out = next[0].view()
		return done, b.sendAgain(ctx, tx, "SendTo", rows, next, done)
	})
	if err == nil {
		_, err = report.only("SendTo", key)
	}
	if err != nil {
		return OutgoingMessage{}, err
	}
	return out, nil
}

// notTo is why a message is not sent to another address; empty: it is.
func (n Support) notTo(ctx context.Context, from driver.Reader, m, again *messageRow) (refused string, err error) {
	switch {
	case again.Address == "":
		return "that is not an address for " + m.Method, nil
	case n.addressHash(m.Method, again.Address) == n.addressHash(m.Method, m.Address):
		return "it went to that address already", nil
	case !slices.Contains(sendable, stage(m.Status, m.IsOnSupportHold, m.ReasonCode)):
		return "it is " + m.Status + ", and is not sent again", nil
	}
	before, to := n.sender().attempt(m), n.sender().attempt(again)
	switch left, err := n.contacts().declined(ctx, from, &before); {
	case err != nil:
		return "", err
	case left:
		return "its recipient wants no such messages", nil
	}
	reasons, err := n.contacts().suppressed(ctx, from, []gate.Attempt{to})
	if err == nil && stops(reasons[0], &to) {
		refused = "messages to that address are stopped"
	}
	return refused, err
}

// declined reports whether a recipient does not get what an attempt is about: they chose so,
// have left or complained at its address, or support has stopped it.
func (n Contacts) declined(ctx context.Context, from driver.Reader, a *gate.Attempt) (bool, error) {
	wishes, places := n.wishes(a), n.suppressionsOf(a.Scope, a.Method, a.Address)
	known, err := preferences.GetMany(ctx, from, wishes)
	if err != nil {
		return false, err
	}
	if !a.Mandatory && refused(known, wishes, a.OptIn) != "" {
		return true, nil
	}
	found, err := suppressions.GetMany(ctx, from, places)
	for _, s := range found {
		if s.Status == statusActive && s.Reason != channel.HardBounce && stops(s.Reason, a) {
			return true, err
		}
	}
	return false, err
}

// SuppressionsOf lists what is in force against some addresses of a scope, at most a
// hundred: for each of them, in their order, the one that stops most, or none, whose Reason
// is empty. An address that its method cannot deliver to has none. With another key than
// the database's it would find none: that is an [ErrHashKey].
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
		if err = n.rightLookup(ctx, from); err == nil {
			found, err = suppressions.GetMany(ctx, from, all)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Suppression, len(to))
	for i := range to {
		for _, at := range asked[i] {
			if s := found[at]; out[i].Reason == channel.SuppressionReason("") && s != nil && s.Status == statusActive {
				out[i] = s.view()
			}
		}
	}
	return out, nil
}
