package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

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

// All lists every message, archived and snoozed ones too, newest first.
func (i Inbox) All(ctx context.Context, p storage.Page) ([]UserMessage, string, error) {
	return i.list(ctx, p)
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
	err = driver.RetryStale("the inbox", func() error { // another device may mark the same
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
