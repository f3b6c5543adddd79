package notify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// BenchmarkTrack tracks callbacks of 1,000 events each on PostgreSQL: messages are
// delivered, each once, or the same is said again. Messages carry a letter of 8 KB.
func BenchmarkTrack(b *testing.B) {
	for _, name := range []string{"new", "repeated"} {
		b.Run(name, func(b *testing.B) {
			h, ids := trackedMessages(b, 1000*b.N)
			callbacks := deliveries(ids)
			if name == "repeated" {
				trackAll(b, h, callbacks)
			}
			b.ResetTimer()
			b.StartTimer()
			trackAll(b, h, callbacks)
			b.ReportMetric(float64(len(ids))/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func trackAll(b *testing.B, h *notify.Notifier, callbacks [][]channel.StatusEvent) {
	for _, events := range callbacks {
		if _, err := h.Track(b.Context(), events...); err != nil {
			b.Fatal(err)
		}
	}
}

func deliveries(ids []string) (callbacks [][]channel.StatusEvent) {
	for len(ids) > 0 {
		var events []channel.StatusEvent
		for _, id := range ids[:1000] {
			events = append(events, channel.StatusEvent{Provider: "test", EventID: id, Kind: channel.KindDelivered, MessageID: id, ProviderMessageID: "p" + id})
		}
		callbacks, ids = append(callbacks, events), ids[1000:]
	}
	return callbacks
}

func trackedMessages(b *testing.B, n int) (*notify.Notifier, []string) {
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	h := notify.New(storetest.Postgres(b, clk), nil)
	letter := strings.Repeat("Dear you, ", 800)
	var ids []string
	b.ResetTimer()
	for at := 0; at < n; at += 1000 {
		var batch []notify.OutgoingMessage
		for i := range 1000 {
			batch = append(batch, notify.OutgoingMessage{
				Scope: "tenant", Channel: channelKey, PartitionKey: fmt.Sprint("job", at), NotificationType: "visit",
				RecipientRef: fmt.Sprint(i), Address: fmt.Sprintf("p%d@example.com", i), Content: notify.Content{Text: letter},
			})
		}
		done, err := h.EnsureOutgoingMessage(b.Context(), nil, batch...)
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range done {
			ids = append(ids, d.MessageID)
		}
	}
	b.StopTimer()
	return h, ids
}
