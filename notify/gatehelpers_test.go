package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// gated runs a test on every adapter with a host that has those options.
func gated(t *testing.T, options func(storage.Store) *notify.Options, test func(t *testing.T, h *host)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		test(t, newGated(t, store, clk, options(store)))
	})
}

// gatedInMemory is for stories in which the adapter plays no part.
func gatedInMemory(t *testing.T, options func(storage.Store) *notify.Options, test func(h *host)) {
	t.Helper()
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store := memory.New(&memory.Options{Clock: clk})
	test(newGated(t, store, clk, options(store)))
}

func newGated(t *testing.T, store storage.Store, clk *clock.Mock, o *notify.Options) *host {
	p := &provider{}
	o.Logger = quiet
	h := &host{Notifier: notify.New(store, o, p), store: store, t: t, clk: clk, provider: p}
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
	return h
}

// with makes options with the built-in gates.
func with(o gate.Options) func(storage.Store) *notify.Options {
	return func(store storage.Store) *notify.Options { return &notify.Options{Gates: gate.New(store, &o)} }
}

// letter is one that EnsureOutgoingMessage takes.
func letter(id, recipient string, change ...func(*notify.OutgoingMessage)) notify.OutgoingMessage {
	m := notify.OutgoingMessage{
		Record: storage.Record{Scope: "tenant", Type: channelKey}, PartitionKey: id, NotificationType: "visit",
		RecipientRef: recipient, Address: recipient + "@example.com", Content: notify.Content{Text: id},
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func (h *host) ensure(want ...notify.OutgoingMessage) {
	h.t.Helper()
	if _, err := h.EnsureOutgoingMessage(h.t.Context(), nil, want...); err != nil {
		h.t.Fatal(err)
	}
}

// texts are what was sent so far, by the text that says which message it was.
func (h *host) texts() map[string]int {
	out := map[string]int{}
	for _, m := range h.sent() {
		out[m.Text]++
	}
	return out
}

// row is the message with that text.
func (h *host) row(text string) *notify.OutgoingMessage {
	h.t.Helper()
	for _, m := range all(h, notify.Messages) {
		if m.Content.Text == text {
			return m
		}
	}
	h.t.Fatalf("no message %q", text)
	return nil
}

// asks is a gate that notes what it is asked and answers as told.
type asks struct {
	label   string
	asked   *[]string
	answers func(a notify.Attempt) (notify.Verdict, error)
}

func (g asks) Ask(_ context.Context, a []notify.Attempt) ([]notify.Verdict, error) {
	out := make([]notify.Verdict, len(a))
	for i := range a {
		*g.asked = append(*g.asked, g.label)
		v, err := g.answers(a[i])
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func attemptOf(id, recipient string, now time.Time) notify.Attempt {
	return notify.Attempt{
		Scope: "tenant", MessageID: id, Number: 1, NotificationType: "visit", Channel: channelKey, Method: "email",
		RecipientRef: recipient, RecipientHash: "hash of " + recipient, Address: recipient + "@example.com", Now: now,
	}
}
