package belfry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// host is a small application: reminder types, one channel that notes what it
// is asked to send, and a poller.
type host struct {
	t         *testing.T
	reminders *automation.Scheduler
	out       *notify.Notifier
	poller    *belfry.Poller

	mu   sync.Mutex
	sent map[string]int // by address and subject
}

const channelKey = "email:test"

func newHost(t *testing.T, store storage.Store, types ...automation.ReminderType) *host {
	h := &host{t: t, sent: map[string]int{}}
	h.out = notify.New(store, nil, channel.Func(channelKey, h.send))
	h.reminders = automation.New(store, h.out, nil)
	for _, typ := range types {
		h.reminders.Register(typ)
	}
	h.poller = belfry.NewPoller(store, nil, h.reminders, h.out)
	return h
}

func (h *host) send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent[m.To+": "+m.Subject]++
	return channel.Receipt{ID: m.ID}, nil
}

// mails is how many went out, and to how many people.
func (h *host) mails() (sent, people int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.sent {
		sent += n
	}
	return sent, len(h.sent)
}

// reminder is a type that writes to the source of each row.
func reminder(name string) automation.ReminderType {
	return automation.ReminderType{
		Name:     name,
		Template: notify.Template{Subject: "{{.Source.ID}} on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: d.Source.ID, Channel: channelKey, Address: d.Source.ID + "@example.com"}}, nil
		}),
	}
}

// today makes n candidates of a type that are due on the first of March 2026.
func today(typ string, n int) []automation.Candidate {
	all := make([]automation.Candidate, n)
	for i := range all {
		all[i] = automation.Candidate{
			Type: typ, Source: automation.Source{Type: "car", ID: fmt.Sprintf("%s%d", typ, i)},
			TargetDate: automation.Date{Year: 2026, Month: 3, Day: 1}, SendAt: "08:00", Zone: "UTC",
		}
	}
	return all
}

func (h *host) ensure(candidates ...automation.Candidate) {
	h.t.Helper()
	for len(candidates) > 0 {
		n := min(len(candidates), 1000)
		if _, err := h.reminders.Ensure(h.t.Context(), candidates[:n]...); err != nil {
			h.t.Fatal(err)
		}
		candidates = candidates[n:]
	}
}

func (h *host) drain() {
	h.t.Helper()
	if err := h.poller.Drain(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}
