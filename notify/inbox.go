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
	// SnoozedUntil is when it comes back into the inbox; zero: it was not put off.
	SnoozedUntil time.Time
}

// userMessageRow has the columns of a [UserMessage].
type userMessageRow struct {
	storage.Record
	driver.Stub
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
	// SnoozedUntil keeps it out of the list and the count until then.
	SnoozedUntil time.Time `db:"snoozed_until"`
}

var userMessages = driver.Define[userMessageRow]("user_message").Grows(driver.WithWork).
	Kept("Retention.Inbox", "what a user has seen in the inbox")

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
		SnoozedUntil: m.SnoozedUntil,
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
		fields := []field{{"Type", s.Kind, w.Kind}}
		if !s.IsStub() {
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

// Inbox is what one person has of in-app messages. Its methods may be called from any
// number of goroutines.
type Inbox struct {
	*core
	scope  Scope
	person string
}

// Inbox is that of a person: "user:{id}" or "employee:{guid}".
func (n *Notifier) Inbox(scope Scope, person string) Inbox { return Inbox{n.core, scope, person} }

// Messages lists those that are neither archived nor snoozed, newest first, and says
// where the next page begins; empty after the last.
//
//spec:f-038
func (i Inbox) Messages(ctx context.Context, p storage.Page) ([]UserMessage, string, error) {
	return i.list(ctx, p, driver.Null("archived_on"), i.awake())
}

// Snoozed lists the messages that are put off, newest first.
func (i Inbox) Snoozed(ctx context.Context, p storage.Page) ([]UserMessage, string, error) {
	return i.list(ctx, p, driver.Null("archived_on"), driver.Greater("snoozed_until", driver.Now(i.store)))
}

// awake holds for what is not put off.
func (i Inbox) awake() driver.Cond {
	return driver.Any(driver.Null("snoozed_until"), driver.AtMost("snoozed_until", driver.Now(i.store)))
}

// Archived lists the archived messages, newest first.
func (i Inbox) Archived(ctx context.Context, p storage.Page) ([]UserMessage, string, error) {
	return i.list(ctx, p, driver.NotNull("archived_on"))
}

func (i Inbox) list(ctx context.Context, p storage.Page, which ...driver.Cond) ([]UserMessage, string, error) {
	within, err := under(i.person)
	if err != nil {
		return nil, "", err
	}
	which = append(within, append(which, driver.Null("forgotten_on"))...)
	return list(ctx, i.core, userMessages, i.scope, p, which, (*userMessageRow).view)
}

// MaxInboxCount is as far as an inbox is counted: beyond it people read "more".
const MaxInboxCount = 1000

// InboxCount says how much of an inbox is new, up to MaxInboxCount each.
// Archived and snoozed messages do not count.
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
	unread := append(within, driver.Null("read_on"), driver.Null("archived_on"), i.awake())
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

// The marks. Read includes Seen; Archived leaves the rest as it is. Unread takes Read
// back, and Unarchived takes Archived back.
const (
	MarkSeen       InboxMark = "Seen"
	MarkRead       InboxMark = "Read"
	MarkUnread     InboxMark = "Unread"
	MarkArchived   InboxMark = "Archived"
	MarkUnarchived InboxMark = "Unarchived"
)

// Mark marks messages by their RowKeys, and says how many that changed. Those that have
// the mark, or are not in this inbox, are passed over, and so are archived ones by all
// but Unarchived.
func (i Inbox) Mark(ctx context.Context, mark InboxMark, rowKeys ...string) (changed int, err error) {
	if userMarks[mark] == nil {
		return 0, errMark(mark)
	}
	return i.changeThese(ctx, rowKeys, userMarks[mark])
}

// maxSnooze is how far a message can be put off.
const maxSnooze = 366 * 24 * time.Hour

// ErrSnooze is a message that is to be put off for more than a year.
var ErrSnooze = errors.New("notify: a message can be put off for a year")

// Snooze puts messages off until then, by their RowKeys, and says how many that changed:
// they leave the list and the count, and come back as unseen. A time that is over takes
// it back; one beyond a year is an [ErrSnooze]. Archived messages are passed over.
func (i Inbox) Snooze(ctx context.Context, until time.Time, rowKeys ...string) (changed int, err error) {
	if until = driver.Time(until); until.Sub(driver.Now(i.store)) > maxSnooze {
		return 0, fmt.Errorf("%w, not until %s", ErrSnooze, until.Format(time.RFC3339))
	}
	return i.changeThese(ctx, rowKeys, func(m *userMessageRow, now time.Time) bool { return m.snooze(now, until) })
}

// changeThese changes messages by their RowKeys.
func (i Inbox) changeThese(ctx context.Context, rowKeys []string, change func(*userMessageRow, time.Time) bool) (changed int, err error) {
	wanted := make([]string, len(rowKeys))
	for k, row := range rowKeys {
		if wanted[k], err = keys.Join(i.person, row); err != nil {
			return 0, err
		}
	}
	if len(wanted) > maxPage {
		return 0, fmt.Errorf("notify: %d messages to mark at once, more than %d", len(wanted), maxPage)
	}
	return i.change(ctx, change, len(wanted), driver.In("key", wanted))
}

// MarkUpTo marks the unread messages from the one with that
// RowKey down to the oldest: what the user had before their eyes, and nothing
// that came meanwhile or is snoozed. Very many are marked in several transactions. The
// marks that take others back are refused.
func (i Inbox) MarkUpTo(ctx context.Context, mark InboxMark, rowKey string) (changed int, err error) {
	if mark != MarkSeen && mark != MarkRead && mark != MarkArchived {
		return 0, errMark(mark)
	}
	newest, err := keys.Join(i.person, rowKey)
	if err != nil {
		return 0, err
	}
	within, err := under(i.person)
	if err != nil {
		return 0, err
	}
	open := append(within, driver.AtLeast("key", newest), driver.Null("archived_on"), driver.Null("read_on"), i.awake())
	if mark == MarkSeen {
		open = append(open, driver.Null("seen_on"))
	}
	for {
		n, err := i.change(ctx, userMarks[mark], maxPage, open...)
		changed += n
		if err != nil || n < maxPage {
			return changed, err
		}
	}
}

func errMark(mark InboxMark) error { return fmt.Errorf("notify: unknown mark %.40q", string(mark)) }

// change changes at most limit rows in one transaction.
func (i Inbox) change(ctx context.Context, change func(*userMessageRow, time.Time) bool, limit int, which ...driver.Cond) (changed int, err error) {
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
				if change(m, driver.Now(i.store)) {
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

// userMarks apply the marks, and report whether that changed anything.
var userMarks = map[InboxMark]func(*userMessageRow, time.Time) bool{
	MarkSeen:       (*userMessageRow).see,
	MarkRead:       (*userMessageRow).read,
	MarkUnread:     (*userMessageRow).unread,
	MarkArchived:   (*userMessageRow).archive,
	MarkUnarchived: (*userMessageRow).unarchive,
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
