package notify

import (
	"context"
	"errors"
	"fmt"
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
//
//spec:a-007 n-036 n-039
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
}

// userMessageRow has the columns of a [UserMessage].
type userMessageRow struct {
	storage.Record
	PartitionKey    string    `db:"partition_key,fixed,person"`
	RowKey          string    `db:"row_key,fixed,person"`
	JobPartitionKey string    `db:"job_partition_key,fixed,person"`
	JobRowKey       string    `db:"job_row_key,fixed,person"`
	BusinessUnit    string    `db:"business_unit,fixed,plain"`
	RecipientRef    string    `db:"recipient_ref,fixed,person"`
	Content         Content   `db:"content,fixed,json,content"`
	ContentHash     string    `db:"content_hash,fixed,plain"`
	InputHash       string    `db:"input_hash,fixed,plain"`
	SourceOn        time.Time `db:"source_on,fixed"`

	CreatedOn  time.Time `db:"created_on,fixed"`
	SeenOn     time.Time `db:"seen_on"`
	ReadOn     time.Time `db:"read_on"`
	ArchivedOn time.Time `db:"archived_on"`
}

var userMessages = driver.Define[userMessageRow]("user_message").Grows(driver.WithWork)

// row has what a caller chooses.
func (m *UserMessage) row() userMessageRow {
	return userMessageRow{
		Record:       storage.Record{Scope: m.Scope, Kind: m.Type, Lane: m.Lane},
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
	}
}

// EnsureUserMessage makes sure of in-app messages; see [DeliveryDispatcher].
// Immutable are the job, the recipient, the type and the InputHash, and the
// ContentHash if both sides have one: the first rendering wins.
//
//spec:n-018
func (n *Notifier) EnsureUserMessage(ctx context.Context, tx storage.Tx, want ...UserMessage) ([]Ensured, error) {
	return ensure(ctx, n.core, tx, userKind, want, (*UserMessage).row)
}

var userKind = &kind[userMessageRow]{
	artifact: ArtifactUserMessage,
	table:    userMessages,
	fill:     fillUserMessage,
	immutable: func(s, w *userMessageRow) []field {
		fields := []field{
			{"Type", s.Kind, w.Kind},
			{"JobPartitionKey", s.JobPartitionKey, w.JobPartitionKey},
			{"JobRowKey", s.JobRowKey, w.JobRowKey},
			{"RecipientRef", redacted(s.RecipientRef), redacted(w.RecipientRef)},
			{"InputHash", s.InputHash, w.InputHash},
		}
		return append(fields, bothOrNone("ContentHash", s.ContentHash, w.ContentHash)...)
	},
	blobs:  func(m *userMessageRow) []storage.Ref { return m.Content.blobs() },
	answer: func(m *userMessageRow) (Coordinates, string) { return Coordinates{m.PartitionKey, m.RowKey}, "" },
}

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
	return m.Content.check()
}

func isInbox(partition string) bool {
	kind, id, _ := strings.Cut(partition, ":")
	return (kind == "user" || kind == "employee") && id != ""
}

// Inbox is what one person has of in-app messages. Its methods may be called from any
// number of goroutines.
type Inbox struct {
	*core
	scope  Scope
	person string
}

// Inbox is that of a person: "user:{id}" or "employee:{guid}".
func (n *Notifier) Inbox(scope Scope, person string) Inbox { return Inbox{n.core, scope, person} }

// Messages lists those that are not archived, newest first, and says where the next
// page begins; empty after the last.
//
//spec:f-038
func (i Inbox) Messages(ctx context.Context, p storage.Page) ([]UserMessage, string, error) {
	return i.list(ctx, p, driver.Null("archived_on"))
}

// Archived lists the archived messages, newest first.
func (i Inbox) Archived(ctx context.Context, p storage.Page) ([]UserMessage, string, error) {
	return i.list(ctx, p, driver.NotNull("archived_on"))
}

func (i Inbox) list(ctx context.Context, p storage.Page, which driver.Cond) ([]UserMessage, string, error) {
	within, err := under(i.person)
	if err != nil {
		return nil, "", err
	}
	return list(ctx, i.core, userMessages, i.scope, p, append(within, which), (*userMessageRow).view)
}

// MaxInboxCount is as far as an inbox is counted: beyond it people read "more".
const MaxInboxCount = 1000

// InboxCount says how much of an inbox is new, up to MaxInboxCount each.
// Archived messages do not count.
type InboxCount struct {
	Unseen int `json:"unseen"` // never listed to the user
	Unread int `json:"unread"` // never opened
}

// Count counts what is new. Its cost depends on what is unread, and not on the size of
// the inbox.
//
//spec:f-038
func (i Inbox) Count(ctx context.Context) (c InboxCount, err error) {
	within, err := under(i.person)
	if err != nil {
		return c, err
	}
	unread := append(within, driver.Null("read_on"), driver.Null("archived_on"))
	err = i.read(ctx, nil, func(from driver.Reader) (err error) {
		if c.Unread, err = userMessages.Count(ctx, from, i.scope, MaxInboxCount, unread...); err != nil {
			return err
		}
		c.Unseen, err = userMessages.Count(ctx, from, i.scope, MaxInboxCount, append(unread, driver.Null("seen_on"))...)
		return err
	})
	return c, err
}

// InboxMark is what a user did with messages of an inbox.
type InboxMark string

// The marks. Read includes Seen; Archived leaves the rest as it is.
const (
	MarkSeen     InboxMark = "Seen"
	MarkRead     InboxMark = "Read"
	MarkArchived InboxMark = "Archived"
)

// Mark marks messages by their RowKeys, and says how many that changed. Those that have the mark, or are not in this inbox, are passed over;
// a mark is never taken back.
func (i Inbox) Mark(ctx context.Context, mark InboxMark, rowKeys ...string) (changed int, err error) {
	wanted := make([]string, len(rowKeys))
	for k, row := range rowKeys {
		if wanted[k], err = keys.Join(i.person, row); err != nil {
			return 0, err
		}
	}
	if len(wanted) > maxPage {
		return 0, fmt.Errorf("notify: %d messages to mark at once, more than %d", len(wanted), maxPage)
	}
	return i.mark(ctx, mark, len(wanted), driver.In("key", wanted))
}

// MarkUpTo marks the unread messages from the one with that
// RowKey down to the oldest: what the user had before their eyes, and nothing
// that came meanwhile. Very many are marked in several transactions.
func (i Inbox) MarkUpTo(ctx context.Context, mark InboxMark, rowKey string) (changed int, err error) {
	newest, err := keys.Join(i.person, rowKey)
	if err != nil {
		return 0, err
	}
	within, err := under(i.person)
	if err != nil {
		return 0, err
	}
	open := append(within, driver.AtLeast("key", newest), driver.Null("archived_on"), driver.Null("read_on"))
	if mark == MarkSeen {
		open = append(open, driver.Null("seen_on"))
	}
	for {
		n, err := i.mark(ctx, mark, maxPage, open...)
		changed += n
		if err != nil || n < maxPage {
			return changed, err
		}
	}
}

// mark changes at most limit rows in one transaction.
func (i Inbox) mark(ctx context.Context, mark InboxMark, limit int, which ...driver.Cond) (changed int, err error) {
	if mark != MarkSeen && mark != MarkRead && mark != MarkArchived {
		return 0, fmt.Errorf("notify: unknown mark %q", mark)
	}
	if limit == 0 {
		return 0, nil
	}
	err = driver.Again("the inbox", func() error { // another device may mark the same
		return i.inTx(ctx, nil, func(tx storage.Tx) error {
			rows, err := userMessages.Find(ctx, tx, i.scope, driver.Query{Where: which, Limit: limit})
			if err != nil {
				return err
			}
			var save []*userMessageRow
			for _, m := range rows {
				if m.mark(driver.Now(i.store), mark) {
					save = append(save, m)
				}
			}
			changed = len(save)
			return userMessages.Save(ctx, tx, save...)
		})
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// mark applies a mark and reports whether it changed anything.
func (m *userMessageRow) mark(now time.Time, mark InboxMark) bool {
	before := m.Status
	switch {
	case m.Status == StatusArchived:
		return false
	case mark == MarkArchived:
		m.become(StatusArchived)
		m.ArchivedOn = now
	case mark == MarkRead && m.Status != StatusRead:
		m.become(StatusRead)
		m.ReadOn = now
		if m.SeenOn.IsZero() {
			m.SeenOn = now
		}
	case mark == MarkSeen && m.Status == StatusUnseen:
		m.become(StatusSeen)
		m.SeenOn = now
	}
	return m.Status != before
}

func (m *userMessageRow) become(status string) {
	userStates.Must(m.Status, status)
	m.Status = status
}
