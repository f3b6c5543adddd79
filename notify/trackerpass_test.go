package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// byReceipt is a provider whose callbacks bring only its own ids.
type byReceipt struct{ *provider }

func (byReceipt) StatusProvider() string { return "test" }

// event reads the single event, beside the row of the sweep.
func (h *host) event() *notify.DeliveryEvent {
	h.t.Helper()
	var found *notify.DeliveryEvent
	for _, e := range all(h, notify.DeliveryEvents) {
		if e.Status == notify.StatusSweep {
			continue
		}
		if found != nil {
			h.t.Fatal("more than one event")
		}
		found = e
	}
	return found
}

// The callback comes before our own settle has stored the provider's id.
func TestAnUnknownMessageIsFoundLater(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, byReceipt{h.provider})
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.waiting()
		early := notify.StatusEvent{Provider: "test", EventID: "1", Kind: notify.KindComplained, ProviderMessageID: "sm1"}
		h.answer = func(context.Context, notify.Message) (notify.Receipt, error) {
			h.same("report", notify.TrackReport{Waiting: 1}, h.track(early))
			return notify.Receipt{ID: "sm1"}, nil
		}
		h.drain()
		h.same("event", notify.StatusWaiting, h.event().Status)
		h.same("repeat", notify.TrackReport{Repeated: 1}, h.track(early))
		opened := notify.StatusEvent{Provider: "test", EventID: "2", Kind: notify.KindOpened, ProviderMessageID: "sm1"}
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

// A provider that gives our id back costs no row per message.
func TestOnlyChannelsThatNeedReceiptsPayForThem(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.accepted()
		h.same("receipts", 0, len(all(h, notify.MessageReceipts)))
	})
}

func TestAnEventWithoutAMessageIsLookedForFourTimes(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.drain()
		h.track(notify.StatusEvent{Provider: "test", EventID: "1", Kind: notify.KindDelivered, MessageID: "a stranger's"})
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
//
//spec:f-011
func TestAnEarlyEventIsAppliedOnceTheMessageIsThere(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		e := notify.StatusEvent{Provider: "test", EventID: "1", Kind: notify.KindDelivered, MessageID: "m1"}
		h.same("report", notify.TrackReport{Waiting: 1}, h.track(e))
		m := notify.OutgoingMessage{
			Record: storage.Record{Scope: "tenant", Type: channelKey}, PartitionKey: "job", NotificationType: "visit",
			RecipientRef: "sam", Address: "sam@example.com", MessageID: "m1", ScheduledOn: h.clk.Now().Add(time.Hour),
		}
		if _, err := h.EnsureOutgoingMessage(h.t.Context(), nil, m); err != nil {
			h.t.Fatal(err)
		}
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
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, byReceipt{h.provider})
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		m := h.accepted()
		complaint := about(m, notify.KindComplained)
		var many []notify.StatusEvent
		for i := range 2500 {
			e := about(m, notify.KindDelivered)
			e.EventID = string(rune(0x4e00 + i))
			many = append(many, e)
		}
		h.track(append(many, complaint)...)
		h.clk.Add(29 * 24 * time.Hour)
		h.drain()
		h.same("after 29 days", 2502, len(all(h, notify.DeliveryEvents)))
		h.same("receipts", 1, len(all(h, notify.MessageReceipts)))
		late := about(m, notify.KindOpened)
		h.track(late)
		h.clk.Add(2 * 24 * time.Hour)
		h.drain()
		h.same("after 31 days", notify.KindOpened, h.event().Kind)
		h.same("receipts", 0, len(all(h, notify.MessageReceipts)))
		// Even if it is replayed then, it has no consequences for the second time.
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", notify.Destination{"email", "sam@example.com"}, support); err != nil {
			t.Fatal(err)
		}
		h.track(complaint)
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

// A tracker that dies leaves its rows to the next one.
func TestATrackerThatDiesIsFollowedByAnother(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		e := about(m, notify.KindDelivered)
		row, err := e.Row(h.clk.Now())
		if err != nil {
			t.Fatal(err)
		}
		row.DueOn = driver.Now(h.store)
		h.inOne(func(tx storage.Tx) error {
			row := *row
			_, err := notify.DeliveryEvents.Insert(t.Context(), tx, &row)
			return err
		})
		h.inOne(func(tx storage.Tx) error {
			_, err := notify.DeliveryEvents.Claim(t.Context(), tx, driver.Claim{
				Statuses: []string{notify.StatusWaiting}, Now: driver.Now(h.store), LeaseUntil: driver.Now(h.store).Add(lease), Token: "dead",
				Lanes: []driver.LaneClaim{{Lane: storage.LaneNormal, Limit: 10}},
			})
			return err
		})
		h.drain()
		h.status(notify.StatusSentToProvider)
		h.clk.Add(lease)
		h.drain()
		h.status(notify.StatusDelivered)
	})
}
