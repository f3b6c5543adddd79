package webhook

import (
	"net/http"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// A receiver does its work and then fails to say so. Whether it hears of the
// message again is what Deduplicates says.
func TestI10_MessageInDoubtIsRepeatedOnlyToReceiversThatKnowItsID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window   time.Duration
		requests int
		status   string
	}{{0, 1, notify.StatusOutcomeUnknown}, {time.Hour, 2, notify.StatusSentToProvider}} {
		s := receive(t, nil)
		lost := false
		handle := s.answer
		s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handle(w, r)
			if !lost {
				lost = true
				panic(http.ErrAbortHandler)
			}
		})
		clk := clock.NewMock()
		clk.Set(now)
		store := memory.New(&memory.Options{Clock: clk})
		n := notify.New(store, nil, open(t, s, Options{Deduplicates: c.window}))
		if _, err := n.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{Channel: "webhook:standard",
			PartitionKey: "job", NotificationType: "visit", Address: s.url, Content: notify.Content{Text: "hello"}}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := belfry.NewPoller(store, nil, n).Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			clk.Add(time.Minute)
		}
		all, _, err := n.Support().AllMessages(t.Context(), "", storage.Page{})
		requests, _, bodies := s.seen()
		if err != nil || len(all) != 1 || all[0].Status != c.status || requests != c.requests || len(bodies) != 1 {
			t.Errorf("window %v: %v, %d requests for %d messages, %+v", c.window, err, requests, len(bodies), all)
		}
	}
}
