package notify

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// This file is what the stories in notify_test reach of the package and no host
// does. They name nothing else that is not exported.

// The tables: stories look at what a host has no list of, such as leases, moments
// at which rows are due, and what was not written, and edit rows as another process
// would.
var (
	AutomationJobs = automationJobs
	Jobs           = jobs
	MessagingJobs  = messagingJobs
	Schedules      = schedules
	Messages       = outgoingMessages
	UserMessages   = userMessages
	Conflicts      = conflicts
	DigestEntries  = digestEntries
	Preferences    = preferences
	Suppressions   = suppressions
	DeliveryEvents = deliveryEvents
)

// The rows of tables.
type (
	JobRow          = jobRow
	MessagingJobRow = messagingJobRow
	MessageRow      = messageRow
	UserMessageRow  = userMessageRow
)

// Sending is what a worker is handed of a message.
type Sending = sending

// DeliveryEvent is a row of DeliveryEvents.
type DeliveryEvent = deliveryEvent

// The states of DeliveryEvents.
const (
	StatusWaiting = statusWaiting
	StatusMatched = statusMatched
	StatusOrphan  = statusOrphan
)

// Errors that hosts cannot tell from others by more than their text.
var (
	ErrForeignTx = errForeignTx
	ErrNoType    = errNoType
)

// SetChunk makes the chunks of a campaign small, or a story of several needs
// thousands of recipients.
func (n *Notifier) SetChunk(recipients int) { n.chunk = recipients }

// Occupy takes one of the slots of a channel, as a call that does not end.
func (n *Notifier) Occupy(channel string) {
	calls.Process.Take([]calls.Bound{{Key: [2]any{n.registry, line{Everywhere: true, Channel: channel}}, Most: 1}})
}

// Distribute is the send pass on rows that were claimed before: something comes
// between a claim and its call, and a pass that polls leaves no time for it. As in the
// pass, an error fails the rows that have not landed.
func (n *Notifier) Distribute(ctx context.Context, items ...Sending) error {
	var mu sync.Mutex
	landed := map[*messageRow]bool{}
	err := n.sender().distribute(ctx, items, func(m *messageRow, _ channel.SuppressionReason) {
		mu.Lock()
		defer mu.Unlock()
		landed[m] = true
	})
	for _, it := range items {
		if !landed[it.Row] {
			sendFailed(driver.Now(n.store), it.Row, err)
		}
	}
	return err
}

// ResolveAll is the pass that resolves doubts, likewise.
func (n *Notifier) ResolveAll(ctx context.Context, items ...Sending) error {
	return n.resolver().resolveAll(ctx, items, func(*messageRow, nothing) {})
}

// GenerateAll is the generator, likewise; what it makes is not stored.
func (n *Notifier) GenerateAll(ctx context.Context, items ...work.Item[jobRow]) error {
	return n.generator().generateAll(ctx, items, func(*jobRow, generated) {})
}

// WakeJob is the scheduler's write of a job that it read before, which somebody
// else may have written since.
func (n *Notifier) WakeJob(ctx context.Context, tx storage.Tx, read *jobRow) error {
	return wakeAll(ctx, tx, jobs, func(j *jobRow, now time.Time) bool { return j.wake(now, "") }, []*jobRow{read})
}

// CancelMessages cancels a campaign's messages in pages of a size, since those of
// the pass are too large for a story.
func (n *Notifier) CancelMessages(ctx context.Context, tx storage.Tx, j *messagingJobRow, size int) error {
	return n.campaigns().cancelMessages(ctx, tx, j, size)
}

// Tell tells subscribers of messages in a transaction, which may roll back.
func (n *Notifier) Tell(ctx context.Context, tx storage.Tx, rows ...*messageRow) error {
	return n.tell(ctx, tx, rows)
}

// TrackStale applies an event to its message as if somebody had written the message
// after it was read.
func (n *Notifier) TrackStale(ctx context.Context, tx storage.Tx, e channel.StatusEvent) error {
	found, err := messagesByID(ctx, tx, []string{e.MessageID})
	if err != nil {
		return err
	}
	seen := found[e.MessageID]
	seen.Version--
	row, err := newEvent(e, driver.Now(n.store))
	if err != nil {
		return err
	}
	_, err = n.tracker().raise(ctx, tx, []*reports{{seen, []*deliveryEvent{row}}})
	return err
}

// Calling records that the call of a claimed message starts; a worker that dies
// then goes no further.
func (m *messageRow) Calling(now time.Time) { m.calling(now) }

// AskedGates are all that are asked, with the package's own.
func (n *Notifier) AskedGates() []gate.Gate { return n.gates }

// GateName is what logs call a gate.
func GateName(g gate.Gate) string { return calls.Name(g) }

// RecipientGate is the package's own.
func (n *Notifier) RecipientGate() gate.Gate { return recipientGate{n.core} }

// AttemptOf is what gates are asked about a message.
func (n *Notifier) AttemptOf(m *messageRow) gate.Attempt { return n.sender().attempt(m) }

// StoppedFor says why messages are stopped, which the verdict of the gate does not.
func (n *Notifier) StoppedFor(ctx context.Context, tx storage.Tx, messages []*messageRow) ([]channel.SuppressionReason, error) {
	attempts := make([]gate.Attempt, len(messages))
	for i, m := range messages {
		attempts[i] = n.sender().attempt(m)
	}
	return n.Contacts().suppressed(ctx, tx, attempts)
}

// ContentOf is what a campaign reads of its payload.
func (n *Notifier) ContentOf(p Payload) *CampaignContent {
	return &CampaignContent{n: n.core, blob: p.Blob}
}

// Sign signs the link of a message, which with another key is a forgery.
func (o *UnsubscribeOptions) Sign(m *messageRow) string { return o.sign(m) }

// PutMessages stores messages in any state, one after the other.
func PutMessages(ctx context.Context, store storage.Store, all []OutgoingMessage) error {
	return store.InTx(ctx, func(tx storage.Tx) error {
		for i, m := range all {
			row := m.row()
			row.Key, row.Status, row.CreatedOn = m.PartitionKey, m.Status, m.CreatedOn
			row.MessageID = fmt.Sprint("m", i)
			row.Progress, row.Tries, row.SupportHold = m.Progress, m.Tries, m.SupportHold
			if _, err := outgoingMessages.Insert(ctx, tx, &row); err != nil {
				return err
			}
		}
		return nil
	})
}
