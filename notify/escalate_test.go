package notify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

const patience = 15 * time.Minute

// both is a recipient with an inbox and a mail address.
func both(name string) notify.Recipient {
	r := person(name)
	r.Inbox = "user:" + name
	return r
}

// escalating runs a test on every adapter with a host whose type "task" mails what is not
// read in the inbox.
func escalating(t *testing.T, test func(t *testing.T, h *host)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		p := &provider{}
		h := newHost(t, store, clk, p, p)
		h.registerTask()
		test(t, h)
	})
}

func (h *host) registerTask() {
	h.Register(notify.Type{Name: "task", Renderer: visitTemplate, EscalateAfter: patience})
}

// task tells people of a task, in their inboxes first.
func (h *host) task(id string, people ...notify.Recipient) notify.Job {
	h.t.Helper()
	j := visit(id, people...)
	j.Type = "task"
	h.dispatch(j)
	h.drain()
	return j
}

// pass lets time pass, and polls.
func (h *host) pass(d time.Duration) {
	h.t.Helper()
	h.clk.Add(d)
	h.drain()
}

func (h *host) mark(mark notify.InboxMark) {
	h.t.Helper()
	h.marked(1)(h.Inbox("tenant", "user:sam").Mark(h.t.Context(), mark, only(h, notify.UserMessages).RowKey))
}

func (h *host) told(j notify.Job) string {
	h.t.Helper()
	trace, err := h.Trace(h.t.Context(), "tenant", j.Coordinates())
	if err != nil {
		h.t.Fatal(err)
	}
	return trace.String()
}

func (h *host) mailed(want int) {
	h.t.Helper()
	if n := len(h.sent()); n != want {
		h.t.Fatalf("%d mails, want %d: %+v", n, want, only(h, notify.Messages))
	}
}

func TestWhatIsUnreadInTheInboxIsMailedOnce(t *testing.T) {
	escalating(t, func(t *testing.T, h *host) {
		j := h.task("7", both("sam"))
		lines, _ := h.read()
		h.same("inbox", []string{"7 Unseen"}, lines)
		h.pass(patience - time.Second)
		h.mark(notify.MarkSeen) // which is not yet read
		h.mailed(0)
		if got := h.told(j); !strings.Contains(got, "email:test to sam: Created, on 2026-03-01T08:15:00Z unless it is read") {
			t.Error(got)
		}
		h.pass(time.Second)
		h.mailed(1)
		h.task("7", both("sam"))                                                                                       // told again
		if _, err := h.AddRecipients(t.Context(), nil, "tenant", j.Coordinates(), support, inbox("ann")); err != nil { // made again
			t.Fatal(err)
		}
		h.pass(patience)
		h.pass(patience)
		h.mailed(1)
		h.status(notify.StatusSentToProvider)
		if u := h.inboxOf("sam"); !u.EscalatedOn.Equal(storetest.Start.Add(patience)) || u.Status != notify.StatusSeen {
			t.Errorf("%+v", u)
		}
		if got := h.told(j); !strings.Contains(got, "SentToProvider, unread in the inbox for 15m0s; sent on") {
			t.Error(got)
		}
	})
}

func TestWhatWasReadOrPutAwayIsNotMailed(t *testing.T) {
	for name, c := range map[string]struct {
		deed func(h *host)
		told string
	}{
		"read":     {func(h *host) { h.mark(notify.MarkRead) }, "read in the inbox on 2026-03-01T08:00:00Z; not sent"},
		"archived": {func(h *host) { h.mark(notify.MarkArchived) }, "archived in the inbox on 2026-03-01T08:00:00Z; not sent"},
		"deleted": {func(h *host) {
			u := only(h, notify.UserMessages)
			h.inOne(func(tx storage.Tx) error { return notify.UserMessages.Delete(h.t.Context(), tx, u) })
		}, "gone from the inbox; not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			escalating(t, func(t *testing.T, h *host) {
				j := h.task("7", both("sam"))
				c.deed(h)
				h.pass(patience)
				h.pass(time.Hour)
				h.mailed(0)
				if m := h.status(notify.StatusSkipped); m.ReasonCode != reasons.Read {
					t.Errorf("%+v", m)
				}
				if got := h.told(j); !strings.Contains(got, c.told) {
					t.Error(got)
				}
			})
		})
	}
}

// What is put off waits as long as it is, and then has its time again.
func TestWhatIsSnoozedIsMailedIfItStaysUnreadWhenItIsBack(t *testing.T) {
	escalating(t, func(t *testing.T, h *host) {
		h.task("7", both("sam"))
		h.clk.Add(10 * time.Minute)
		back := h.clk.Now().Add(8 * time.Hour)
		h.marked(1)(h.Inbox("tenant", "user:sam").Snooze(t.Context(), back, only(h, notify.UserMessages).RowKey))
		h.pass(patience)
		if m := h.status(notify.StatusRetryReady); m.ReasonCode != reasons.Snoozed || !m.DueOn.Equal(back.Add(patience)) {
			t.Fatalf("%+v", m)
		}
		h.clk.Set(back.Add(patience - time.Second))
		h.drain()
		h.mailed(0)
		h.pass(time.Second)
		h.mailed(1)
	})
}

// However long it is put off, the type's validity begins when it is back. A moment that the
// host named stands.
func TestASnoozeOutlastsTheTypesValidityAndNotTheHosts(t *testing.T) {
	for name, until := range map[string]time.Time{"the type's": {}, "the host's": storetest.Start.Add(48 * time.Hour)} {
		t.Run(name, func(t *testing.T) {
			escalating(t, func(t *testing.T, h *host) {
				j := visit("7", both("sam"))
				j.Type, j.ValidUntil = "task", until
				h.dispatch(j)
				h.drain()
				back := h.clk.Now().Add(30 * 24 * time.Hour)
				h.marked(1)(h.Inbox("tenant", "user:sam").Snooze(t.Context(), back, only(h, notify.UserMessages).RowKey))
				h.pass(patience)
				h.clk.Set(back.Add(patience - time.Second))
				h.drain()
				h.mailed(0)
				h.pass(time.Second)
				if !until.IsZero() {
					h.mailed(0)
					h.same("reason", reasons.TooLate, h.status(notify.StatusExpired).ReasonCode)
					return
				}
				h.mailed(1)
			})
		})
	}
}

// The mail passes the gates like any other, and what is read while they keep it back is
// not mailed.
func TestWhatIsReadInQuietHoursIsNotMailedInTheMorning(t *testing.T) {
	for name, reads := range map[string]bool{"read": true, "unread": false} {
		t.Run(name, func(t *testing.T) {
			escalating(t, func(t *testing.T, h *host) {
				h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Gates: gate.New(h.store, &gate.Options{Window: &gate.Window{From: "08:00", To: "08:10"}})}, h.provider)
				h.registerTask()
				h.task("7", both("sam"))
				h.pass(patience)
				m := h.status(notify.StatusRetryReady)
				if m.ReasonCode != reasons.QuietHours {
					t.Fatalf("%+v", m)
				}
				if reads {
					h.mark(notify.MarkRead)
				}
				h.clk.Set(m.DueOn) // in the morning
				h.drain()
				h.mailed(map[bool]int{true: 0, false: 1}[reads])
			})
		})
	}
}

func TestWhoHasOptedOutIsNotMailedWhatIsUnread(t *testing.T) {
	escalating(t, func(t *testing.T, h *host) {
		if err := h.Contacts().SetPreferences(t.Context(), notify.Preference{Scope: "tenant", RecipientRef: "sam", Method: "email", OptedOut: true}); err != nil {
			t.Fatal(err)
		}
		h.task("7", both("sam"))
		h.pass(patience)
		h.mailed(0)
		if m := h.status(notify.StatusSkipped); m.ReasonCode != reasons.OptedOut || !only(h, notify.UserMessages).EscalatedOn.IsZero() {
			t.Errorf("%+v", m)
		}
	})
}

// Whoever has no inbox, or no other way, gets what there is at once.
func TestOnlyWhatIsInAnInboxWaits(t *testing.T) {
	escalating(t, func(t *testing.T, h *host) {
		h.task("7", person("ann"), inbox("bob"))
		h.mailed(1)
		h.pass(patience)
		h.mailed(1)
	})
}

// A host makes both messages itself.
func TestAMessageOfAHostWaitsForItsInboxToo(t *testing.T) {
	escalating(t, func(t *testing.T, h *host) {
		made, err := h.EnsureUserMessage(t.Context(), nil, notify.UserMessage{
			Scope: "tenant", Type: "task", PartitionKey: "user:sam", JobRowKey: "order-7", SourceOn: storetest.Start, Content: notify.Content{Subject: "A task"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Scope: "tenant", Channel: channelKey, PartitionKey: "order-7", NotificationType: "task", RecipientRef: "sam", Address: "sam@example.com",
			Content: notify.Content{Subject: "A task"}, ScheduledOn: storetest.Start.Add(patience), UnlessRead: made[0].Key,
		})
		if err != nil {
			t.Fatal(err)
		}
		h.pass(patience - time.Second)
		h.mailed(0)
		h.mark(notify.MarkRead)
		h.pass(time.Second)
		h.mailed(0)
		h.status(notify.StatusSkipped)
	})
}

// At whichever transaction of the sender somebody reads the message: once it is read no
// call begins, and once the call has begun it goes out.
func TestNoCallBeginsForWhatIsReadAtThatMoment(t *testing.T) {
	escalating(t, func(t *testing.T, h *host) {
		for point := 1; ; point++ {
			name := fmt.Sprint("p", point)
			h.task(name, both(name))
			h.clk.Add(patience)
			reached, begun, before := false, false, len(h.sent())
			spy := &storetest.Spy{Store: h.store}
			spy.SetHook(func(c storetest.Call) error {
				if c.Verb != storetest.Begin || c.Number != point {
					return nil
				}
				reached = true
				m := h.messageTo(name)
				begun = !m.CallStartedOn.IsZero() || m.Status == notify.StatusSentToProvider
				h.marked(1)(h.Inbox("tenant", "user:"+name).Mark(t.Context(), notify.MarkRead, h.inboxOf(name).RowKey))
				return nil
			})
			s := newHost(t, spy, h.clk, h.provider, h.provider)
			s.registerTask()
			s.run("notify.distributor")
			h.drain()
			if !reached {
				if point < 3 {
					t.Fatalf("only %d transactions", point)
				}
				return
			}
			m, sent := h.messageTo(name), len(h.sent()) > before
			if sent != begun || sent == h.inboxOf(name).EscalatedOn.IsZero() || sent != (m.Status == notify.StatusSentToProvider) {
				t.Errorf("read at transaction %d: begun %v, sent %v: %+v", point, begun, sent, m)
			}
		}
	})
}

func (h *host) messageTo(name string) *notify.MessageRow {
	h.t.Helper()
	for _, m := range all(h, notify.Messages) {
		if m.RecipientRef == name {
			return m
		}
	}
	h.t.Fatalf("no message to %s", name)
	return nil
}

func (h *host) inboxOf(name string) *notify.UserMessageRow {
	h.t.Helper()
	for _, m := range all(h, notify.UserMessages) {
		if m.RecipientRef == name {
			return m
		}
	}
	h.t.Fatalf("nothing in the inbox of %s", name)
	return nil
}
