package notify

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// OutgoingMessage is one message to one recipient by one method, claimed
// before its provider is called (Communication - System architecture,
// "OutgoingMessage + send claim"). A caller of EnsureOutgoingMessage fills in
// the fields down to UnlessRead, of which Channel is required, and leaves MessageID
// empty; the others are the answer of a list and ignored.
type OutgoingMessage struct {
	Scope Scope
	// Channel is the key of the one that sends it.
	Channel string
	// Lane orders it among other work; zero leaves it to the type.
	Lane int16
	// PartitionKey is the notification job's row key, or the messaging job's
	// GUID.
	PartitionKey string
	// RowKey is keys.OutgoingMessageRow; empty means that of RecipientHash.
	RowKey string
	// JobPartitionKey is the notification job's partition key; empty for a
	// messaging job's messages.
	JobPartitionKey  string
	NotificationType string
	BusinessUnit     string
	// Method is the delivery method; empty means that of the channel key.
	Method string
	// RecipientRef is the host's id. RecipientHash is the RecipientKeyHash of it,
	// the method and the normalised address, which is made if it is empty, under
	// the host's key with the fingerprint HashKey.
	RecipientRef  string
	RecipientHash string
	HashKey       string
	RecipientName string
	Address       string
	Zone          string
	// AttemptNo is 0, or counts the new attempts that a person asked for; a retry
	// uses the row again.
	AttemptNo int
	// Content is what the message says, and ContentHash its hash: empty means
	// Content.Hash, or none without a content. Another one is a conflict; messages
	// that a renderer made have none, since the first rendering wins.
	Content     Content
	ContentHash string
	InputHash   string
	// InDoubt is the policy of the type; empty means the registered one's.
	InDoubt InDoubt
	// Group, Mandatory and Requested are those of the type; empty or false means the
	// registered one's. They are kept here since the process that sends need not have
	// registered the type.
	Group                string
	Mandatory, Requested bool
	// ScheduledOn is the first moment at which the message may go out; zero
	// means at once.
	ScheduledOn time.Time
	// ValidUntil is from when on it is not sent any more; zero: what the type says.
	ValidUntil time.Time
	// Reminds is the MessageID of the message that this one reminds of; frequency caps do not
	// count one against the other. CallsBefore counts the calls of such messages, from which
	// the channel's Attempt goes on.
	Reminds     string
	CallsBefore int
	// Owner is the package of this module whose message it is, such as survey: what becomes of
	// it is decided there, too. A host leaves it empty.
	Owner string
	// UnlessRead is the Key of a [UserMessage] of the scope: this one is not sent once that
	// was read or archived, or is gone, and waits while it is snoozed. Empty: it is sent
	// independent of others. See [Type].EscalateAfter.
	UnlessRead string

	// Key is the stored identity, which Release, Cancel and Resolve take.
	Key string
	// Status is one of the Status… constants.
	Status string
	// DueOn is when the message is looked at next; zero: it is not.
	DueOn time.Time
	// MessageID is random and what providers see. It finds the row of a webhook.
	MessageID string
	CreatedOn time.Time
	// ForgottenOn is when all but the key and the state was forgotten; zero: it was not.
	ForgottenOn time.Time
	Progress
	driver.Tries
	driver.SupportHold
}

// Coordinates are where the message is found.
func (m *OutgoingMessage) Coordinates() Coordinates { return Coordinates{m.PartitionKey, m.RowKey} }

// messageRow has the columns of an [OutgoingMessage].
type messageRow struct {
	driver.Due
	driver.Tombstone
	PartitionKey     string    `db:"partition_key,fixed,person"`
	RowKey           string    `db:"row_key,fixed,person"`
	JobPartitionKey  string    `db:"job_partition_key,fixed,person"`
	NotificationType string    `db:"notification_type,fixed,plain"`
	BusinessUnit     string    `db:"business_unit,fixed,plain"`
	Method           string    `db:"method,fixed,plain"`
	RecipientRef     string    `db:"recipient_ref,fixed,null,indexed,person"`
	RecipientHash    string    `db:"recipient_hash,fixed,indexed,person"`
	HashKey          string    `db:"hash_key,fixed,plain"`
	RecipientName    string    `db:"recipient_name,fixed,person"`
	Address          string    `db:"address,fixed,address"`
	Zone             string    `db:"zone,fixed,person"`
	AttemptNo        int       `db:"attempt_no,fixed"`
	Content          Content   `db:"content,fixed,json,content"`
	ContentHash      string    `db:"content_hash,fixed,plain"`
	InputHash        string    `db:"input_hash,fixed,plain"`
	InDoubt          InDoubt   `db:"in_doubt,fixed,plain"`
	ConsentGroup     string    `db:"consent_group,fixed,plain"`
	OptIn            bool      `db:"opt_in,fixed,null"`
	Mandatory        bool      `db:"mandatory,fixed"`
	Requested        bool      `db:"requested,fixed"`
	ByJob            bool      `db:"by_job,fixed,null"` // the generator made it, not the host
	ScheduledOn      time.Time `db:"scheduled_on,fixed"`
	ValidUntil       time.Time `db:"valid_until"` // zero: a person wants it sent
	UnlessRead       string    `db:"unless_read,fixed,person"`
	Reminds          string    `db:"reminds,fixed,plain"`
	CallsBefore      int       `db:"calls_before,fixed"`
	Owner            string    `db:"owner,fixed,plain"`

	MessageID string    `db:"message_id,fixed,indexed,plain"`
	CreatedOn time.Time `db:"created_on,fixed"`
	Progress
	driver.Tries
	driver.SupportHold
}

// row has what a caller chooses.
func (m *OutgoingMessage) row() messageRow {
	return messageRow{
		Due:          driver.Due{Record: storage.Record{Scope: m.Scope, Kind: m.Channel}, Lane: m.Lane},
		PartitionKey: m.PartitionKey, RowKey: m.RowKey, JobPartitionKey: m.JobPartitionKey,
		NotificationType: m.NotificationType, BusinessUnit: m.BusinessUnit, Method: m.Method,
		RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash, HashKey: m.HashKey, RecipientName: m.RecipientName,
		Address: m.Address, Zone: m.Zone, AttemptNo: m.AttemptNo, Content: m.Content, ContentHash: m.Content.hashOr(m.ContentHash),
		InputHash: m.InputHash, InDoubt: m.InDoubt, ConsentGroup: m.Group, Mandatory: m.Mandatory, Requested: m.Requested,
		ScheduledOn: m.ScheduledOn, ValidUntil: m.ValidUntil, UnlessRead: m.UnlessRead,
		Reminds: m.Reminds, CallsBefore: m.CallsBefore, Owner: m.Owner,
		MessageID: m.MessageID,
	}
}

func (m *messageRow) view() OutgoingMessage {
	at := m.Coordinates()
	return OutgoingMessage{
		Scope: m.Scope, Channel: m.Kind, Lane: m.Lane,
		PartitionKey: at.PartitionKey, RowKey: at.RowKey, JobPartitionKey: m.JobPartitionKey,
		NotificationType: m.NotificationType, BusinessUnit: m.BusinessUnit, Method: m.Method,
		RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash, HashKey: m.HashKey, RecipientName: m.RecipientName,
		Address: m.Address, Zone: m.Zone, AttemptNo: m.AttemptNo, Content: m.Content, ContentHash: m.ContentHash,
		InputHash: m.InputHash, InDoubt: m.InDoubt, Group: m.ConsentGroup, Mandatory: m.Mandatory, Requested: m.Requested,
		ScheduledOn: m.ScheduledOn, ValidUntil: m.ValidUntil, UnlessRead: m.UnlessRead,
		Reminds: m.Reminds, CallsBefore: m.CallsBefore, Owner: m.Owner,
		Key: m.Key, Status: m.Status, DueOn: m.DueOn, MessageID: m.MessageID, CreatedOn: m.CreatedOn, ForgottenOn: m.ForgottenOn,
		Progress: m.Progress, Tries: m.Tries, SupportHold: m.SupportHold,
	}
}

var outgoingMessages = driver.Define[messageRow]("outgoing_message").Grows(driver.WithWork).
	Kept("Retention.Messages", "what a job led to; one that no job led to leaves a stub, so that it is not sent again")

// Progress is what calls of the provider and doubts about them have led to.
type Progress struct {
	// Calls counts provider calls that were started.
	Calls int `db:"calls"`
	// CallStartedOn is set from before a call until the row is due again for
	// another one: a crash in between leaves the message in doubt.
	CallStartedOn time.Time `db:"call_started_on"`
	SentOn        time.Time `db:"sent_on"`   // accepted by the provider, or assumed so
	FailedOn      time.Time `db:"failed_on"` // failed for good
	// ProviderMessageID is the provider's id of the message.
	ProviderMessageID string `db:"provider_message_id,null,indexed,plain"`
	// Via is the key of the channel of a [Failover] that was called last, or that is
	// called next; empty: the one that the message asks for.
	Via string `db:"via,plain"`
	// OwnAccount says that the last call went out through an account of the scope's own,
	// which a [ChannelSource] gave it, and not through one that scopes share. Callbacks of
	// another account are not about the message, and no other is asked about a doubt.
	OwnAccount bool `db:"own_account"`
	// Redirected says that a gate had the last call go to another address than the
	// message's, so that nothing which comes of it says anything of that one.
	Redirected bool `db:"redirected"`
	// Copies is how many got a copy with the last call: fewer than the content names where
	// gates or the provider left some out.
	Copies int `db:"copies"`
	// Doubts counts how often the message came into doubt, Lookups how often a
	// provider was asked about the present one.
	Doubts  int `db:"doubts"`
	Lookups int `db:"lookups"`
	// Resolution says how the last doubt was settled, and ResolvedOn when.
	Resolution Resolution `db:"resolution,plain"`
	ResolvedOn time.Time  `db:"resolved_on"`
	// IdempotentUntil ends the window in which the provider accepts a repeat only
	// once. It is set when a repeat relies on that; after it nothing is repeated.
	IdempotentUntil time.Time `db:"idempotent_until"`
}

// Coordinates are where the message is found.
func (m *messageRow) Coordinates() Coordinates { return coordinates(m.Key, m.PartitionKey, m.RowKey) }

// The resolutions of a doubt.
const (
	ResolvedByLookup      Resolution = "StatusLookup"   // the provider said that it has it
	ResolvedAsAbsent      Resolution = "Absent"         // the provider said that it does not have it
	ResolvedByIdempotency Resolution = "IdempotentSend" // sent again under the same ID
	ResolvedByHold        Resolution = "Hold"           // left to a person
	ResolvedByAssumption  Resolution = "AssumeSent"     // the policy took it for sent
	ResolvedByResend      Resolution = "Resend"         // the policy had it sent again
	ResolvedBySupport     Resolution = "Support"        // a person decided
	ResolvedByCall        Resolution = "LateResult"     // the call's own answer came in after all
	ResolvedByCallback    Resolution = "Callback"       // the provider's webhook said so
)

func (m *messageRow) become(status string) {
	outgoingStates.Must(m.Status, status)
	m.Status = status
}

// calling is the state before a provider call; it is committed before the call.
func (p *Progress) calling(now time.Time) {
	p.CallStartedOn = now
	p.Calls++
}

// uncalled takes calling back, since the call was not made.
func (m *messageRow) uncalled(now time.Time) {
	m.Calls--
	m.released(now)
}

// released gives a claimed message back without counting a try: its call has
// not started.
func (m *messageRow) released(now time.Time) {
	m.become(StatusRetryReady)
	m.CallStartedOn = time.Time{}
	m.DueOn = now
}

// accepted is the provider's receipt.
func (m *messageRow) accepted(on time.Time, r channel.Receipt) {
	m.become(StatusSentToProvider)
	m.FailedOn = time.Time{}
	m.SentOn, m.ProviderMessageID = on, storable.Code(r.ID)
	m.Copies -= min(max(r.Refused, 0), m.Copies)
	m.DueOn, m.NextRetryOn, m.ReasonCode = time.Time{}, time.Time{}, ""
	m.SupportHold = driver.SupportHold{}
}

// settled applies the result of a call.
func (m *messageRow) settled(now time.Time, r channel.Receipt, e *channel.Error) {
	switch {
	case e == nil:
		m.accepted(now, r)
	case e.Class == channel.ClassUnknown:
		m.doubted(now, storable.Code(e.Code))
	case e.Class == channel.ClassPermanent && !e.Fault.IsOutage() && e.Fault != channel.FaultPolicy:
		m.refusedForGood(now, storable.Code(e.Code))
	default:
		m.refused(now, e)
	}
}

// skip ends a message that is no longer wanted.
func (m *messageRow) skip(now time.Time, reason string) {
	m.become(StatusSkipped)
	m.ReasonCode = storable.Code(reason)
	m.DueOn, m.NextRetryOn, m.EndedOn = time.Time{}, time.Time{}, now
}

// stale reports whether the message is valid no more.
func (m *messageRow) stale(now time.Time) bool {
	return !m.ValidUntil.IsZero() && !now.Before(m.ValidUntil)
}

// expired reports whether a claimed message is stale, and ends it then.
func (m *messageRow) expired(now time.Time) bool {
	if !m.stale(now) {
		return false
	}
	m.become(StatusExpired)
	m.ReasonCode = reasons.TooLate
	m.DueOn, m.NextRetryOn, m.EndedOn = time.Time{}, time.Time{}, now
	return true
}

// EnsureOutgoingMessage makes sure of messages to be sent; see
// [DeliveryDispatcher]. An address that cannot be normalised is an error.
// Immutable are the job, the recipient, the method, the type and the
// InputHash, and the ContentHash if both sides have one: the first rendering
// wins, and the send claim decides whether a provider is called.
func (n *Notifier) EnsureOutgoingMessage(ctx context.Context, tx storage.Tx, want ...OutgoingMessage) ([]Ensured, error) {
	if err := n.rightHashKey(ctx, tx); err != nil {
		return nil, err
	}
	asked := make([]string, len(want))
	for i := range want {
		asked[i] = want[i].Channel
	}
	n.warnOfStrangers(ctx, asked)
	return ensure(ctx, n.core, tx, outgoingKind, want, (*OutgoingMessage).row)
}

var outgoingKind = &kind[messageRow]{
	artifact: ArtifactOutgoingMessage,
	table:    outgoingMessages,
	fill:     fillOutgoing,
	erase:    eraseWanted,
	immutable: func(s, w *messageRow) []field {
		if s.IsErased() {
			return nil
		}
		fields := []field{{"NotificationType", s.NotificationType, w.NotificationType}}
		if !s.IsTombstone() {
			fields = append(fields,
				field{"JobPartitionKey", s.JobPartitionKey, w.JobPartitionKey},
				field{"Method", s.Method, w.Method},
				field{"RecipientRef", redacted(s.RecipientRef), redacted(w.RecipientRef)},
				field{"RecipientHash", s.RecipientHash, w.RecipientHash},
			)
		}
		fields = append(fields, field{"InputHash", s.InputHash, w.InputHash})
		return append(fields, bothOrNone("ContentHash", s.ContentHash, w.ContentHash)...)
	},
	blobs:  func(m *messageRow) []storage.Ref { return m.Content.blobs() },
	answer: func(m *messageRow) (Coordinates, string) { return m.Coordinates(), m.MessageID },
}

var (
	errNoChannel          = errors.New("its Channel is empty")
	errNoNotificationType = errors.New("NotificationType is empty")
	errMessageID          = errors.New("a MessageID is not the caller's; it is made at random")
)

// fillOutgoing is for messages of any caller; the generator's are filled from
// what it froze.
func fillOutgoing(n *core, now time.Time, m *messageRow) (err error) {
	switch {
	case m.Kind == "":
		return errNoChannel
	case m.NotificationType == "":
		return errNoNotificationType
	case m.MessageID != "":
		return errMessageID
	}
	m.Method = cmp.Or(m.Method, channel.Method(m.Kind))
	if m.Address, err = spelling.Of(m.Method, m.Address); err != nil {
		return err
	}
	if m.RecipientHash == "" {
		m.RecipientHash = n.recipientHash(m.RecipientRef, m.Method, m.Address)
		m.HashKey = n.hashKey
	}
	m.CreatedOn = now
	t := n.registry.lookup(m.NotificationType)
	m.InDoubt, m.ConsentGroup = cmp.Or(m.InDoubt, t.InDoubt), cmp.Or(m.ConsentGroup, t.Group)
	m.OptIn = n.optIn(m.ConsentGroup)
	m.Requested = m.Requested || t.Requested
	m.Mandatory = m.Mandatory || m.Requested || t.Mandatory
	m.Lane = n.registry.lane(m.NotificationType, m.Lane)
	m.ValidUntil = t.validUntil(m.ValidUntil, later(m.ScheduledOn, now), m.Lane)
	if err := cmp.Or(m.Content.check(), n.allowed(m.Content)); err != nil {
		return err
	}
	return n.begin(m, StatusCreated)
}

// begin gives a complete message its key, its id and its first state.
func (n *core) begin(m *messageRow, status string) (err error) {
	if m.RowKey == "" {
		if m.RowKey, err = keys.OutgoingMessageRow(m.RecipientHash, m.Method, m.AttemptNo); err != nil {
			return err
		}
	}
	key, err := keys.Join(m.PartitionKey, m.RowKey)
	if err != nil {
		return err
	}
	if m.MessageID, err = n.newMessageID(); err != nil {
		return err
	}
	m.Due = freshDue(m.Due, key, status)
	m.Progress, m.Tries, m.SupportHold = Progress{}, driver.Tries{}, driver.SupportHold{}
	if status == StatusCreated {
		m.DueOn = later(m.ScheduledOn, m.CreatedOn)
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return driver.Time(a)
	}
	return b
}
