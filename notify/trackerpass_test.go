package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// event reads the single event.
func (h *host) event() *notify.DeliveryEvent {
	h.t.Helper()
	return only(h, notify.DeliveryEvents)
}

// sweep deletes what is old, as a Poller does.
func (h *host) sweep() {
	h.t.Helper()
	if err := sweep.New(h.store, sweep.Options{Logger: quiet}, h.SweepRules()).Drain(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// The callback comes before our own settle has stored the provider's id.
func TestAnUnknownMessageIsFoundLater(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		early := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindComplained, ProviderMessageID: "sm1"}
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			h.same("report", notify.TrackReport{Waiting: 1}, h.track(early))
			return channel.Receipt{ID: "sm1"}, nil
		}
		h.drain()
		h.same("event", notify.StatusWaiting, h.event().Status)
		h.same("repeat", notify.TrackReport{Repeated: 1}, h.track(early))
		opened := channel.StatusEvent{Provider: "test", EventID: "2", Kind: channel.KindOpened, ProviderMessageID: "sm1"}
		other := opened
		other.Provider = "other" // another provider may give the same id
		h.clk.Add(time.Minute)
		h.drain()
		h.same("event", notify.StatusMatched, h.event().Status)
		h.same("suppressed", []string{"Complaint test"}, h.suppressions("tenant"))
		h.same("report", notify.TrackReport{Applied: 1, Waiting: 1}, h.track(opened, other))
		h.status(notify.StatusOpened)
	})
}

func TestAnEventWithoutAMessageIsLookedForFourTimes(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.drain()
		h.track(channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindDelivered, MessageID: "a stranger's"})
		for i, wait := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour} {
			e := h.event()
			if e.Status != notify.StatusWaiting || e.Tries != i || !e.DueOn.Equal(h.clk.Now().Add(wait)) {
				t.Fatalf("before look %d: %+v", i+1, e)
			}
			h.clk.Add(wait)
			h.run("notify.tracker")
		}
		if e := h.event(); e.Status != notify.StatusOrphan || !e.DueOn.IsZero() {
			t.Errorf("event is %+v", e)
		}
	})
}

// A message that is restored, or committed, after its callback came.
func TestAnEarlyEventIsAppliedOnceTheMessageIsThere(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		m := notify.OutgoingMessage{
			Scope: "tenant", Channel: channelKey, PartitionKey: "job", NotificationType: "visit",
			RecipientRef: "sam", Address: "sam@example.com", ScheduledOn: h.clk.Now().Add(time.Hour),
		}
		if _, err := h.EnsureOutgoingMessage(h.t.Context(), nil, m); err != nil {
			h.t.Fatal(err)
		}
		lost := only(h, notify.Messages)
		h.inOne(func(tx storage.Tx) error { return notify.Messages.Delete(h.t.Context(), tx, lost) })
		e := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindDelivered, MessageID: lost.MessageID}
		h.same("report", notify.TrackReport{Waiting: 1}, h.track(e))
		h.inOne(func(tx storage.Tx) error {
			_, err := notify.Messages.Insert(h.t.Context(), tx, lost)
			return err
		})
		h.clk.Add(time.Minute)
		h.drain()
		h.status(notify.StatusDelivered)
		h.clk.Add(2 * time.Hour)
		h.drain()
		h.same("calls", 0, len(h.sent())) // it went out already, wherever that was
		h.same("changes", []string{"Delivered sam "}, c.lines())
	})
}

func TestOldEventsAreForgottenAndFactsAreNot(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		complaint := about(m, channel.KindComplained)
		var many []channel.StatusEvent
		for i := range 2500 {
			e := about(m, channel.KindDelivered)
			e.EventID = string(rune(0x4e00 + i))
			many = append(many, e)
		}
		h.track(append(many, complaint)...)
		h.clk.Add(29 * 24 * time.Hour)
		h.sweep()
		h.same("after 29 days", 2501, len(all(h, notify.DeliveryEvents)))
		late := about(m, channel.KindOpened)
		h.track(late)
		h.clk.Add(2 * 24 * time.Hour)
		h.sweep()
		h.same("after 31 days", channel.KindOpened, h.event().StatusKind)
		// Even if it is replayed then, it has no consequences for the second time.
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", notify.Destination{"email", "sam@example.com"}, support); err != nil {
			t.Fatal(err)
		}
		h.track(complaint)
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

// Another writer comes between the look at a message and the write.
func TestAMessageThatChangesUnderACallbackIsReadAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		h.inOne(func(tx storage.Tx) error {
			return h.TrackStale(t.Context(), tx, about(m, channel.KindDelivered))
		})
		h.status(notify.StatusDelivered)
		h.same("content", m.Content, h.status(notify.StatusDelivered).Content) // it was not read, and is not lost
	})
}

// hook is a webhook made of a function.
type hook func(channel.WebhookRequest) ([]channel.StatusEvent, error)

func (hook) Provider() string { return "test" }

func (f hook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) { return f(r) }

func TestReceiveTracksWhatTheWebhookReads(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		rep, err := h.Receive(t.Context(), "", hook(func(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
			if !r.Now.Equal(storetest.Start) {
				t.Errorf("now is %v", r.Now)
			}
			useless := about(m, "Burnt")
			stolen := about(m, channel.KindDelivered)
			stolen.Provider = "somebody else"
			return []channel.StatusEvent{useless, stolen}, nil
		}), channel.WebhookRequest{})
		h.same("report", notify.TrackReport{Applied: 1, Refused: 1}, rep)
		if err != nil {
			t.Error(err)
		}
		h.same("provider", "test", h.event().Kind)
		h.status(notify.StatusDelivered)
	})
}

func TestReceiveSaysWhatIsWrongAndNothingOfTheCallback(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		m := h.accepted()
		for name, c := range map[string]struct {
			hook hook
			want error
		}{
			"forged": {func(channel.WebhookRequest) ([]channel.StatusEvent, error) {
				return []channel.StatusEvent{about(m, channel.KindDelivered)}, channel.ErrWebhookRefused
			}, channel.ErrWebhookRefused},
			"later": {func(channel.WebhookRequest) ([]channel.StatusEvent, error) {
				return nil, fmt.Errorf("canary: %w", channel.ErrWebhookLater)
			}, channel.ErrWebhookLater},
			"unreadable": {func(channel.WebhookRequest) ([]channel.StatusEvent, error) { return nil, errors.New("canary") }, notify.ErrWebhookUnreadable},
			"too many": {func(channel.WebhookRequest) ([]channel.StatusEvent, error) {
				return make([]channel.StatusEvent, notify.MaxWebhookEvents+1), nil
			}, notify.ErrWebhookTooLarge},
			"panic": {func(channel.WebhookRequest) ([]channel.StatusEvent, error) { panic("canary") }, nil},
		} {
			_, err := h.Receive(h.t.Context(), "", c.hook, channel.WebhookRequest{})
			if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Contains(err.Error(), "canary") {
				h.t.Errorf("%s: %v", name, err)
			}
		}
		h.status(notify.StatusSentToProvider)
	})
}
