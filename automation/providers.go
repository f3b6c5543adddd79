package automation

import (
	"context"

	"github.com/belfry-go/belfry/notify"
)

// TriggerProvider decides when, never whom (Automation & Reminders, "Provider
// contracts"). Its methods may be called from several goroutines, and again for
// the same event; they change nothing. For an event without a Version they run
// inside the transaction: there they read through connections of their own,
// through the host's transaction in Event.Data, or through [TxOf], and call
// nothing else of this store.
type TriggerProvider interface {
	// EventTypes lists the events that Candidates understands. It is asked once,
	// by Register.
	EventTypes() []string
	// Candidates says all that the source of the event should be reminded of
	// now. A candidate may leave out Scope, Type and Source, which are the event's.
	// Open rows of the source, of the settings that are spoken for, that are not
	// among the candidates are deactivated. Spoken for are the type's Name, the
	// settings of the candidates, and what a [SettingLister] adds.
	Candidates(ctx context.Context, e Event) ([]Candidate, error)
}

// SettingLister is for a [TriggerProvider] whose reminders have settings of
// their own: rows of a setting for which it gives no candidate any more have to
// go as well.
type SettingLister interface {
	// Settings lists the settings that Candidates speaks for on this event.
	Settings(ctx context.Context, e Event) ([]string, error)
}

// InvalidationProvider says which rows an event ends (Automation & Reminders,
// "Provider contracts"): the source was deleted, a setting was switched off.
// Its methods may be called from several goroutines and change nothing.
type InvalidationProvider interface {
	// EventTypes is asked once, by Register.
	EventTypes() []string
	Invalidations(ctx context.Context, e Event) ([]Invalidation, error)
}

// Invalidation names open rows to deactivate. Completed rows always stay.
type Invalidation struct {
	// Setting is required; for rows of candidates that named none it is the type's
	// Name.
	Setting string
	// Source is the entity; the zero value means every source of the setting.
	Source Source
	// Keys narrows it to these rows; none means all of them.
	Keys []string
	// Reason is kept with the rows; default Invalidated.
	Reason Reason
}

// ImmediateNotificationProvider says what to send at once about an event
// (Automation & Reminders, "Provider contracts"). Its methods may be called from
// several goroutines, and again for the same event, and change nothing.
type ImmediateNotificationProvider interface {
	// EventTypes is asked once, by Register.
	EventTypes() []string
	Notifications(ctx context.Context, e Event) ([]Immediate, error)
}

// RecipientProvider decides whom, at the moment the row is due, so that pending
// rows stay as they are when configuration changes. It may be called from
// several goroutines and again for the same row, and changes nothing. The
// context ends when the row's lease is lost.
type RecipientProvider interface {
	Recipients(ctx context.Context, d Due) ([]notify.Recipient, error)
}

// BatchRecipientProvider is the batch form: it answers for many rows of one type
// in their order, and is asked instead of Recipients.
type BatchRecipientProvider interface {
	RecipientsOf(ctx context.Context, due []Due) ([][]notify.Recipient, error)
}

// RecipientFunc is a RecipientProvider made of a function.
type RecipientFunc func(ctx context.Context, d Due) ([]notify.Recipient, error)

// Recipients calls f.
func (f RecipientFunc) Recipients(ctx context.Context, d Due) ([]notify.Recipient, error) {
	return f(ctx, d)
}

// DeliveryPolicy decides how, at the moment the row is due: it may choose other
// channels, add inboxes, and leave recipients out. Nobody left over ends the row
// as Deactivated, SkippedByPolicy. Otherwise it is as RecipientProvider.
type DeliveryPolicy interface {
	Deliver(ctx context.Context, d Due, to []notify.Recipient) ([]notify.Recipient, error)
}

// DeliveryPolicyFunc is a DeliveryPolicy made of a function.
type DeliveryPolicyFunc func(ctx context.Context, d Due, to []notify.Recipient) ([]notify.Recipient, error)

// Deliver calls f.
func (f DeliveryPolicyFunc) Deliver(ctx context.Context, d Due, to []notify.Recipient) ([]notify.Recipient, error) {
	return f(ctx, d, to)
}
