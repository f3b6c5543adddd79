package notify

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// byReceipt is a provider whose callbacks bring only its own ids.
type byReceipt struct{ *provider }

func (byReceipt) StatusProvider() string { return "test" }

// event reads the single event, beside the row of the sweep.
func (h *host) event() *deliveryEvent {
	h.t.Helper()
	var found *deliveryEvent
	for _, e := range all(h, deliveryEvents) {
		if e.Status == statusSweep {
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
		h.Notifier = New(h.store, &Options{Logger: quiet}, byReceipt{h.provider})
		h.Register(Type{Name: "visit", Renderer: visitTemplate})
		h.waiting()
		early := StatusEvent{Provider: "test", EventID: "1", Kind: KindComplained, ProviderMessageID: "sm1"}
		h.answer = func(context.Context, Message) (Receipt, error) {
			h.same("report", TrackReport{Waiting: 1}, h.track(early))
			return Receipt{ID: "sm1"}, nil
		}
		h.drain()
		h.same("event", StatusWaiting, h.event().Status)
		h.same("repeat", TrackReport{Repeated: 1}, h.track(early))
		opened := StatusEvent{Provider: "test", EventID: "2", Kind: KindOpened, ProviderMessageID: "sm1"}
		other := opened
		other.Provider = "other" // another provider may give the same id
		h.clk.Add(time.Minute)
		h.drain()
		h.same("event", StatusMatched, h.event().Status)
		h.same("suppressed", []string{"Complaint test"}, h.suppressions("tenant"))
		h.same("report", TrackReport{Applied: 1, Waiting: 1}, h.track(opened, other))
		h.status(StatusOpened)
	})
}

// A provider that gives our id back costs no row per message.
func TestOnlyChannelsThatNeedReceiptsPayForThem(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.accepted()
		h.same("receipts", 0, len(all(h, messageReceipts)))
	})
}

func TestAnEventWithoutAMessageIsLookedForFourTimes(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.drain()
		h.track(StatusEvent{Provider: "test", EventID: "1", Kind: KindDelivered, MessageID: "a stranger's"})
		for i, wait := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour} {
			e := h.event()
			if e.Status != StatusWaiting || e.Tries != i || !e.DueOn.Equal(h.clk.Now().Add(wait)) {
				t.Fatalf("before look %d: %+v", i+1, e)
			}
			h.clk.Add(wait)
			h.run("notify.tracker")
		}
		if e := h.event(); e.Status != StatusOrphan || !e.DueOn.IsZero() {
			t.Errorf("event is %+v", e)
		}
	})
}

// A message that is restored, or committed, after its callback came.
func TestAnEarlyEventIsAppliedOnceTheMessageIsThere(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		e := StatusEvent{Provider: "test", EventID: "1", Kind: KindDelivered, MessageID: "m1"}
		h.same("report", TrackReport{Waiting: 1}, h.track(e))
		m := OutgoingMessage{
			Record: storage.Record{Scope: "tenant", Type: channelKey}, PartitionKey: "job", NotificationType: "visit",
			RecipientRef: "sam", Address: "sam@example.com", MessageID: "m1", ScheduledOn: h.clk.Now().Add(time.Hour),
		}
		if _, err := h.EnsureOutgoingMessage(h.t.Context(), nil, m); err != nil {
			h.t.Fatal(err)
		}
		h.clk.Add(time.Minute)
		h.drain()
		h.status(StatusDelivered)
		h.clk.Add(2 * time.Hour)
		h.drain()
		h.same("calls", 0, len(h.sent())) // it went out already, wherever that was
		h.same("changes", []string{"Delivered sam "}, c.lines())
	})
}

func TestOldEventsAreForgottenAndFactsAreNot(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = New(h.store, &Options{Logger: quiet}, byReceipt{h.provider})
		h.Register(Type{Name: "visit", Renderer: visitTemplate})
		m := h.accepted()
		complaint := about(m, KindComplained)
		var many []StatusEvent
		for i := range 2500 {
			e := about(m, KindDelivered)
			e.EventID = string(rune(0x4e00 + i))
			many = append(many, e)
		}
		h.track(append(many, complaint)...)
		h.clk.Add(29 * 24 * time.Hour)
		h.drain()
		h.same("after 29 days", 2502, len(all(h, deliveryEvents)))
		h.same("receipts", 1, len(all(h, messageReceipts)))
		late := about(m, KindOpened)
		h.track(late)
		h.clk.Add(2 * 24 * time.Hour)
		h.drain()
		h.same("after 31 days", StatusOpened, statusOf[h.event().Kind])
		h.same("receipts", 0, len(all(h, messageReceipts)))
		// Even if it is replayed then, it has no consequences for the second time.
		if err := h.Unsuppress(t.Context(), "tenant", Destination{"email", "sam@example.com"}, support); err != nil {
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
		e := about(m, KindDelivered)
		row, err := e.row(h.clk.Now())
		if err != nil {
			t.Fatal(err)
		}
		row.DueOn = storage.Now(h.store)
		h.inOne(func(tx storage.Tx) error {
			row := *row
			_, err := deliveryEvents.Insert(t.Context(), tx, &row)
			return err
		})
		h.inOne(func(tx storage.Tx) error {
			_, err := deliveryEvents.Claim(t.Context(), tx, storage.Claim{
				Statuses: []string{StatusWaiting}, Now: storage.Now(h.store), LeaseUntil: storage.Now(h.store).Add(lease), Token: "dead",
				Lanes: []storage.LaneClaim{{Lane: storage.LaneNormal, Limit: 10}},
			})
			return err
		})
		h.drain()
		h.status(StatusSentToProvider)
		h.clk.Add(lease)
		h.drain()
		h.status(StatusDelivered)
	})
}
