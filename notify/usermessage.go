package notify

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// UserMessage is one message in an inbox of the host's own application. It is
// never sent and never due. A caller of EnsureUserMessage fills in the fields
// down to SourceOn, of which Type, PartitionKey and SourceOn are required; the others are the
// answer of a list and ignored.
type UserMessage struct {
	Scope Scope
	// Type is the notification type.
	Type string
	// Lane is that of the job.
	Lane int16
	// PartitionKey is the inbox: keys.UserPartition or keys.EmployeePartition.
	PartitionKey string
	// RowKey sorts the newest first; empty means keys.UserMessageRow of SourceOn
	// and JobRowKey.
	RowKey string
	// JobPartitionKey and JobRowKey are the notification job's coordinates.
	JobPartitionKey string
	JobRowKey       string
	BusinessUnit    string
	RecipientRef    string
	// Content is what the message says, and ContentHash its hash: empty means
	// Content.Hash, or none without a content. Another one is a conflict; messages
	// that a renderer made have none, since the first rendering wins.
	Content     Content
	ContentHash string
	InputHash   string
	// SourceOn is the stable time of the occasion, never the moment of writing,
	// or a repeat would make a second message. It is required.
	SourceOn time.Time

	Key string // the stored identity
	// Status is StatusUnseen, StatusSeen, StatusRead or StatusArchived.
	Status                     string
	CreatedOn                  time.Time
	SeenOn, ReadOn, ArchivedOn time.Time
	// SnoozedUntil is when it comes back into the inbox; zero: it was not put off.
	SnoozedUntil time.Time
	// EscalatedOn is when it began to go out by another way, too, since it was unread; zero:
	// it did not.
	EscalatedOn time.Time
}

// userMessageRow has the columns of a [UserMessage].
type userMessageRow struct {
	storage.Record
	driver.Tombstone
	PartitionKey    string    `db:"partition_key,fixed,person"`
	RowKey          string    `db:"row_key,fixed,person"`
	JobPartitionKey string    `db:"job_partition_key,fixed,person"`
	JobRowKey       string    `db:"job_row_key,fixed,person"`
	BusinessUnit    string    `db:"business_unit,fixed,plain"`
	RecipientRef    string    `db:"recipient_ref,fixed,null,indexed,person"`
	Content         Content   `db:"content,fixed,json,content"`
	ContentHash     string    `db:"content_hash,fixed,plain"`
	InputHash       string    `db:"input_hash,fixed,plain"`
	ByJob           bool      `db:"by_job,fixed,null"` // the generator made it, not the host
	SourceOn        time.Time `db:"source_on,fixed"`
	Lane            int16     `db:"lane,fixed"`

	CreatedOn  time.Time `db:"created_on,fixed"`
	SeenOn     time.Time `db:"seen_on"`
	ReadOn     time.Time `db:"read_on"`
	ArchivedOn time.Time `db:"archived_on"`
	// SnoozedUntil keeps it out of the list and the count until then.
	SnoozedUntil time.Time `db:"snoozed_until"`
	EscalatedOn  time.Time `db:"escalated_on"`
}

var userMessages = driver.Define[userMessageRow]("user_message").Grows(driver.WithWork).
	Kept("Retention.Inbox", "what a user has seen in the inbox")

// row has what a caller chooses.
func (m *UserMessage) row() userMessageRow {
	return userMessageRow{
		Record: storage.Record{Scope: m.Scope, Kind: m.Type}, Lane: m.Lane,
		PartitionKey: m.PartitionKey, RowKey: m.RowKey, JobPartitionKey: m.JobPartitionKey, JobRowKey: m.JobRowKey,
		BusinessUnit: m.BusinessUnit, RecipientRef: m.RecipientRef, Content: m.Content, ContentHash: m.Content.hashOr(m.ContentHash),
		InputHash: m.InputHash, SourceOn: m.SourceOn,
	}
}

func (m *userMessageRow) view() UserMessage {
	return UserMessage{
		Scope: m.Scope, Type: m.Kind, Lane: m.Lane,
		PartitionKey: m.PartitionKey, RowKey: m.RowKey, JobPartitionKey: m.JobPartitionKey, JobRowKey: m.JobRowKey,
		BusinessUnit: m.BusinessUnit, RecipientRef: m.RecipientRef, Content: m.Content, ContentHash: m.ContentHash,
		InputHash: m.InputHash, SourceOn: m.SourceOn,
		Key: m.Key, Status: m.Status, CreatedOn: m.CreatedOn, SeenOn: m.SeenOn, ReadOn: m.ReadOn, ArchivedOn: m.ArchivedOn,
		SnoozedUntil: m.SnoozedUntil, EscalatedOn: m.EscalatedOn,
	}
}

// EnsureUserMessage makes sure of in-app messages; see [DeliveryDispatcher].
// Immutable are the job, the recipient, the type and the InputHash, and the
// ContentHash if both sides have one: the first rendering wins.
func (n *Notifier) EnsureUserMessage(ctx context.Context, tx storage.Tx, want ...UserMessage) ([]Ensured, error) {
	return ensure(ctx, n.core, tx, userKind, want, (*UserMessage).row)
}

var userKind = &kind[userMessageRow]{
	artifact: ArtifactUserMessage,
	table:    userMessages,
	fill:     fillUserMessage,
	immutable: func(s, w *userMessageRow) []field {
		fields := []field{{"Type", s.Kind, w.Kind}}
		if !s.IsTombstone() {
			fields = append(fields,
				field{"JobPartitionKey", s.JobPartitionKey, w.JobPartitionKey},
				field{"JobRowKey", s.JobRowKey, w.JobRowKey},
				field{"RecipientRef", redacted(s.RecipientRef), redacted(w.RecipientRef)},
			)
		}
		fields = append(fields, field{"InputHash", s.InputHash, w.InputHash})
		return append(fields, bothOrNone("ContentHash", s.ContentHash, w.ContentHash)...)
	},
	blobs: func(m *userMessageRow) []storage.Ref { return m.Content.blobs() },
	answer: func(m *userMessageRow) (Coordinates, string) {
		return coordinates(m.Key, m.PartitionKey, m.RowKey), ""
	},
}

var errInboxMail = errors.New("Content.Mail is for e-mails")

var errNoSource = errors.New("SourceOn is zero; it is the time of the occasion")

func fillUserMessage(_ *core, now time.Time, m *userMessageRow) (err error) {
	if !isInbox(m.PartitionKey) {
		return errInbox
	}
	if m.Kind == "" {
		return errNoType
	}
	if m.SourceOn.IsZero() {
		return errNoSource
	}
	if m.RowKey == "" {
		if m.RowKey, err = keys.UserMessageRow(m.SourceOn, m.JobRowKey); err != nil {
			return err
		}
	}
	key, err := keys.Join(m.PartitionKey, m.RowKey)
	if err != nil {
		return err
	}
	m.Record = fresh(m.Record, key, StatusUnseen)
	m.CreatedOn = now
	if !m.Content.Mail.IsZero() {
		return errInboxMail
	}
	return m.Content.check()
}

func isInbox(partition string) bool {
	kind, id, _ := strings.Cut(partition, ":")
	return (kind == "user" || kind == "employee") && id != ""
}

func (m *userMessageRow) see(now time.Time) bool {
	if m.Status != StatusUnseen {
		return false
	}
	m.become(StatusSeen)
	m.SeenOn = now
	return true
}

func (m *userMessageRow) read(now time.Time) bool {
	if m.Status != StatusUnseen && m.Status != StatusSeen {
		return false
	}
	m.become(StatusRead)
	m.ReadOn = now
	if m.SeenOn.IsZero() {
		m.SeenOn = now
	}
	return true
}

func (m *userMessageRow) unread(time.Time) bool {
	if m.Status != StatusRead {
		return false
	}
	m.become(StatusSeen)
	m.ReadOn = time.Time{}
	return true
}

func (m *userMessageRow) archive(now time.Time) bool {
	if m.Status == StatusArchived {
		return false
	}
	m.become(StatusArchived)
	m.ArchivedOn = now
	return true
}

// unarchive makes it what it was before.
func (m *userMessageRow) unarchive(time.Time) bool {
	if m.Status != StatusArchived {
		return false
	}
	before := StatusUnseen
	switch {
	case !m.ReadOn.IsZero():
		before = StatusRead
	case !m.SeenOn.IsZero():
		before = StatusSeen
	}
	m.become(before)
	m.ArchivedOn = time.Time{}
	return true
}

// snooze puts it off, or takes that back where the time is over.
func (m *userMessageRow) snooze(now, until time.Time) bool {
	switch {
	case m.Status == StatusArchived:
		return false
	case !until.After(now):
		was := m.SnoozedUntil.After(now)
		m.SnoozedUntil = time.Time{}
		return was
	case m.SnoozedUntil.Equal(until):
		return false
	}
	m.become(StatusUnseen)
	m.SeenOn, m.ReadOn, m.SnoozedUntil = time.Time{}, time.Time{}, until
	return true
}

func (m *userMessageRow) become(status string) {
	userStates.Must(m.Status, status)
	m.Status = status
}
