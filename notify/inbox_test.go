package notify_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// mails puts messages into Sam's inbox, the oldest first, and one into another.
func (h *host) mails(subjects ...string) {
	h.t.Helper()
	for i, s := range subjects {
		j := visit(s, inbox("sam"))
		j.SourceOn = storetest.Start.Add(time.Duration(i) * time.Minute)
		h.dispatch(j)
	}
	h.dispatch(visit("other", inbox("sammy")))
	h.drain()
}

// read lists Sam's inbox as "subject status", newest first.
func (h *host) read() (lines, rowKeys []string) {
	h.t.Helper()
	rows, _, err := h.Inbox("tenant", "user:sam").Messages(h.t.Context(), storage.Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range rows {
		subject, _, _ := strings.Cut(m.Content.Subject, " ")
		lines, rowKeys = append(lines, subject+" "+m.Status), append(rowKeys, m.RowKey)
	}
	return lines, rowKeys
}

func (h *host) count() notify.InboxCount {
	h.t.Helper()
	c, err := h.Inbox("tenant", "user:sam").Count(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *host) marked(n int) func(int, error) {
	return func(changed int, err error) {
		h.t.Helper()
		if err != nil || changed != n {
			h.t.Errorf("%d marked, %v, want %d", changed, err, n)
		}
	}
}

func TestAnInboxIsSeenReadAndArchived(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		mark := func(want int, mark notify.InboxMark, rows ...string) {
			t.Helper()
			h.marked(want)(h.Inbox("tenant", "user:sam").Mark(t.Context(), mark, rows...))
		}
		h.mails("a", "b", "c")
		h.same("count", notify.InboxCount{Unseen: 3, Unread: 3}, h.count())
		_, rows := h.read()
		mark(2, notify.MarkSeen, rows[0], rows[1])
		mark(1, notify.MarkRead, rows[1])
		mark(0, notify.MarkSeen, rows[0], rows[1], "no such row")
		h.same("count", notify.InboxCount{Unseen: 1, Unread: 2}, h.count())
		mark(1, notify.MarkArchived, rows[2])
		mark(0, notify.MarkRead, rows[2])
		mark(0, notify.MarkSeen)
		h.same("count", notify.InboxCount{Unread: 1}, h.count())
		lines, _ := h.read()
		h.same("inbox", []string{"c Seen", "b Read"}, lines)
		old, _, err := h.Inbox("tenant", "user:sam").Archived(t.Context(), storage.Page{})
		if err != nil || len(old) != 1 || !old[0].ArchivedOn.Equal(storetest.Start) || !old[0].ReadOn.IsZero() {
			t.Errorf("archived: %+v, %v", old, err)
		}
	})
}

func TestMarkingUpToAMessageLeavesWhatCameLater(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.mails("a", "b", "c", "d")
		_, rows := h.read()
		h.marked(3)(h.Inbox("tenant", "user:sam").MarkUpTo(t.Context(), notify.MarkSeen, rows[1]))
		h.marked(1)(h.Inbox("tenant", "user:sam").MarkUpTo(t.Context(), notify.MarkRead, rows[3]))
		lines, _ := h.read()
		h.same("inbox", []string{"d Unseen", "c Seen", "b Seen", "a Read"}, lines)
		h.marked(0)(h.Inbox("tenant", "user:sam").MarkUpTo(t.Context(), notify.MarkSeen, rows[1]))
	})
}

// I-28: another tenant and another inbox stay as they are.
func TestI28_MarksStayInTheirInbox(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.mails("a")
		_, rows := h.read()
		h.marked(0)(h.Inbox("elsewhere", "user:sam").Mark(t.Context(), notify.MarkRead, rows...))
		h.marked(0)(h.Inbox("elsewhere", "user:sam").MarkUpTo(t.Context(), notify.MarkRead, rows[0]))
		h.marked(1)(h.Inbox("tenant", "user:sam").MarkUpTo(t.Context(), notify.MarkRead, rows[0]))
		other, _, err := h.Inbox("tenant", "user:sammy").Messages(t.Context(), storage.Page{})
		if err != nil || len(other) != 1 || other[0].Status != notify.StatusUnseen {
			t.Errorf("%+v, %v", other, err)
		}
		for _, err := range []error{
			second(h.Inbox("\x00any", "user:sam").Mark(t.Context(), notify.MarkRead, rows...)),
			second(h.Inbox("\x00any", "user:sam").Count(t.Context())),
			second(h.Inbox("tenant", "user:sam").Mark(t.Context(), "Burnt", rows...)),
			second(h.Inbox("tenant", "user:sam").Mark(t.Context(), notify.MarkRead, make([]string, 1001)...)),
		} {
			if err == nil {
				t.Error("nothing was refused")
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Two devices of one user mark the same messages: nobody is told an error.
func TestTwoDevicesMarkAtOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.mails("a", "b", "c", "d", "e")
		_, rows := h.read()
		type answer struct {
			n   int
			err error
		}
		answers := make(chan answer)
		for range 4 {
			go func() {
				n, err := h.Inbox("tenant", "user:sam").Mark(t.Context(), notify.MarkRead, rows...)
				answers <- answer{n, err}
			}()
		}
		changed := 0
		for range 4 {
			a := <-answers
			if a.err != nil {
				t.Error(a.err)
			}
			changed += a.n
		}
		if diff := cmp.Diff(5, changed); diff != "" {
			t.Error(diff)
		}
		h.same("count", notify.InboxCount{}, h.count())
	})
}

func TestAMarkIsTakenBack(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		sam := h.Inbox("tenant", "user:sam")
		h.mails("a", "b")
		_, rows := h.read()
		h.marked(2)(sam.Mark(t.Context(), notify.MarkRead, rows...))
		h.marked(1)(sam.Mark(t.Context(), notify.MarkUnread, rows[0]))
		h.marked(0)(sam.Mark(t.Context(), notify.MarkUnread, rows[0]))
		h.marked(2)(sam.Mark(t.Context(), notify.MarkArchived, rows...))
		h.marked(0)(sam.Mark(t.Context(), notify.MarkUnread, rows...))
		h.same("count", notify.InboxCount{}, h.count())
		h.marked(2)(sam.Mark(t.Context(), notify.MarkUnarchived, rows...))
		h.marked(0)(sam.Mark(t.Context(), notify.MarkUnarchived, rows...))
		lines, _ := h.read()
		h.same("inbox", []string{"b Seen", "a Read"}, lines)
		h.same("count", notify.InboxCount{Unread: 1}, h.count())
		for _, mark := range []notify.InboxMark{notify.MarkUnread, notify.MarkUnarchived, "Burnt"} {
			if _, err := sam.MarkUpTo(t.Context(), mark, rows[0]); err == nil {
				t.Errorf("%s goes down to the oldest", mark)
			}
		}
	})
}

func TestAMessageThatIsPutOffComesBackAsNew(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		sam := h.Inbox("tenant", "user:sam")
		h.mails("a", "b", "c")
		_, rows := h.read()
		h.marked(2)(sam.Mark(t.Context(), notify.MarkRead, rows[0], rows[1]))
		h.marked(1)(sam.Mark(t.Context(), notify.MarkArchived, rows[2]))
		tomorrow := h.clk.Now().Add(24 * time.Hour)
		h.marked(1)(sam.Snooze(t.Context(), tomorrow, rows[0], rows[2]))
		h.marked(0)(sam.Snooze(t.Context(), tomorrow, rows[0]))
		h.marked(0)(h.Inbox("elsewhere", "user:sam").Snooze(t.Context(), tomorrow, rows...))
		lines, _ := h.read()
		h.same("inbox", []string{"b Read"}, lines)
		h.same("count", notify.InboxCount{}, h.count())
		h.marked(0)(sam.MarkUpTo(t.Context(), notify.MarkRead, rows[0]))
		later, _, err := sam.Snoozed(t.Context(), storage.Page{})
		if err != nil || len(later) != 1 || !later[0].SnoozedUntil.Equal(tomorrow) || later[0].RowKey != rows[0] {
			t.Errorf("snoozed: %+v, %v", later, err)
		}
		h.clk.Add(24 * time.Hour)
		lines, _ = h.read()
		h.same("tomorrow", []string{"c Unseen", "b Read"}, lines)
		h.same("count", notify.InboxCount{Unseen: 1, Unread: 1}, h.count())
		h.marked(1)(sam.Snooze(t.Context(), h.clk.Now().Add(time.Hour), rows[0]))
		h.marked(1)(sam.Snooze(t.Context(), time.Time{}, rows[0])) // taken back
		lines, _ = h.read()
		h.same("taken back", []string{"c Unseen", "b Read"}, lines)
		if _, err := sam.Snooze(t.Context(), h.clk.Now().Add(367*24*time.Hour), rows[0]); !errors.Is(err, notify.ErrSnooze) {
			t.Error(err)
		}
	})
}
