package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// StatusChange tells the host what became of a message: the end of its way, or a
// doubt about it. It holds no address and no text.
type StatusChange struct {
	// ID is the same however often the change is told.
	ID               string     `json:"id"`
	Kind             ChangeKind `json:"kind"`
	Scope            Scope      `json:"scope,omitempty"`
	MessageID        string     `json:"messageId"`
	NotificationType string     `json:"notificationType"`
	BusinessUnit     string     `json:"businessUnit,omitempty"`
	Channel          string     `json:"channel"`
	RecipientRef     string     `json:"recipientRef,omitempty"`
	// Job is where the notification job is; of a messaging job's message both
	// parts are its GUID.
	Job               Coordinates `json:"job"`
	ProviderMessageID string      `json:"providerMessageId,omitempty"`
	Reason            string      `json:"reason,omitempty"` // a code
	// Lasting says of a bounce that nothing is sent to the address again.
	Lasting bool      `json:"lasting,omitempty"`
	On      time.Time `json:"on"`
}

// ChangeKind is what became of a message.
type ChangeKind string

// The kinds of change. That a provider has accepted a message is none of them:
// it is what usually happens.
const (
	ChangeDelivered ChangeKind = "Delivered"
	ChangeBounced   ChangeKind = "Bounced" // each bounce that the provider reports
	ChangeInDoubt   ChangeKind = "InDoubt" // it is unknown whether it was sent; the policy or a person decides
	ChangeFailed    ChangeKind = "Failed"
	ChangeSkipped   ChangeKind = "Skipped"
	ChangeExpired   ChangeKind = "Expired" // it was stale before it could be sent
	// ChangeResubscribed: its recipient, who had unsubscribed at the provider, wants messages
	// again.
	ChangeResubscribed ChangeKind = "Resubscribed"
)

// StatusSubscriber hears of what became of messages. It is called from several
// goroutines, at least once for each change and again until it returns nil: after
// waits that grow from a minute to a day, eight times, and then no more until
// a person replays the dead letter.
type StatusSubscriber interface {
	// Key names the subscriber for ever: changes wait for it under this name.
	Key() string
	Status(ctx context.Context, c StatusChange) error
}

// StatusFunc is a StatusSubscriber made of a function.
func StatusFunc(key string, f func(ctx context.Context, c StatusChange) error) StatusSubscriber {
	return statusFunc{key, f}
}

type statusFunc struct {
	key string
	f   func(ctx context.Context, c StatusChange) error
}

func (s statusFunc) Key() string { return s.key }

func (s statusFunc) Status(ctx context.Context, c StatusChange) error { return s.f(ctx, c) }

// Subscribe adds subscribers, before pollers run the passes of n. From the first
// poll on every change is kept for them, whichever process makes it. It panics on
// a nil subscriber, and on a key that is empty or taken.
func (n *Notifier) Subscribe(subs ...StatusSubscriber) {
	for _, s := range subs {
		if s == nil {
			panic("notify: Subscribe: a nil subscriber")
		}
		n.box.Subscribe(outbox.Subscriber{
			Key: s.Key(), Topics: []string{topicStatus},
			Dispatch: func(ctx context.Context, e outbox.Event) error {
				var c StatusChange
				if err := json.Unmarshal(e.Payload, &c); err != nil {
					return permanent.Mark(err)
				}
				return s.Status(ctx, c)
			},
		})
	}
}

const topicStatus = "notify.status"

// changeOf is what a row's state says, if it is something to tell.
func changeOf(m *messageRow) (ChangeKind, bool) {
	switch m.Status {
	case StatusDelivered:
		return ChangeDelivered, true
	case StatusOutcomeUnknown:
		return ChangeInDoubt, true
	case StatusFailedFinal:
		return ChangeFailed, true
	case StatusSkipped:
		return ChangeSkipped, m.ReasonCode != reasons.Erased // the host has had them erased
	case StatusExpired:
		return ChangeExpired, true
	}
	return "", false
}

// tell emits what became of messages, in the transaction that has written them.
func (n *core) tell(ctx context.Context, tx storage.Tx, rows []*messageRow) error {
	var changes []StatusChange
	for _, m := range rows {
		if kind, ok := changeOf(m); ok {
			changes = append(changes, newChange(m, kind, driver.Now(n.store)))
		}
	}
	if err := n.tellOwners(ctx, tx, rows); err != nil {
		return err
	}
	return emitChanges(ctx, tx, changes)
}

func newChange(m *messageRow, kind ChangeKind, now time.Time) StatusChange {
	id := m.MessageID + ":" + string(kind)
	if kind == ChangeInDoubt {
		id += ":" + strconv.Itoa(m.Doubts) // each doubt is one of its own
	}
	return StatusChange{
		ID: id, Kind: kind, Scope: m.Scope, MessageID: m.MessageID, NotificationType: m.NotificationType,
		BusinessUnit: m.BusinessUnit, Channel: m.inUse(), RecipientRef: m.RecipientRef,
		Job:               Coordinates{cmp.Or(m.JobPartitionKey, m.PartitionKey), m.PartitionKey},
		ProviderMessageID: m.ProviderMessageID, Reason: m.ReasonCode, On: now,
	}
}

// movedFrom is what a callback has made of a message that had another status:
// a person who opened it got it.
func movedFrom(m *messageRow, before string, now time.Time) []StatusChange {
	delivered := heights[StatusDelivered]
	switch {
	case heights[before] < delivered && heights[m.Status] >= delivered:
		return []StatusChange{newChange(m, ChangeDelivered, now)}
	case before != m.Status && m.Status == StatusFailedFinal:
		return []StatusChange{newChange(m, ChangeFailed, now)}
	}
	return nil
}

// bounceOf is the change that a bounce is told as, each bounce once.
func bounceOf(m *messageRow, e *deliveryEvent) StatusChange {
	c := newChange(m, ChangeBounced, e.On)
	c.ID, c.Reason, c.Lasting = c.ID+":"+hashOf("belfry-bounce-1", e.Key), e.Code, e.Lasting
	return c
}

// returnOf is the change that says that a recipient came back.
func returnOf(m *messageRow, e *deliveryEvent) StatusChange {
	c := newChange(m, ChangeResubscribed, e.On)
	c.ID, c.Reason = c.ID+":"+hashOf("belfry-return-1", e.Key), e.Code
	return c
}

// emitChanges stores nothing while there is no subscriber.
func emitChanges(ctx context.Context, tx storage.Tx, changes []StatusChange) error {
	if len(changes) == 0 {
		return nil
	}
	wanted, err := outbox.Wanted(ctx, tx, topicStatus)
	if err != nil || !wanted[topicStatus] {
		return err
	}
	all := make([]outbox.Event, len(changes))
	for i, c := range changes {
		key, err := keys.Join(topicStatus + ":" + c.ID)
		if err != nil {
			return err
		}
		all[i] = outbox.Event{Scope: c.Scope, Key: key, Topic: topicStatus, Payload: mustJSON(c)}
	}
	return outbox.Emit(ctx, tx, all...)
}
