package survey_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

var hashKeyOfHost = []byte("0123456789abcdef0123456789abcdef")

// A host that begins with surveys, and gives a key when it begins with
// notifications, is not held to what it left out.
func TestLinksWithoutAHashKeyLeaveTheChoice(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		first := h.linked(csiGR)
		h.drain()
		h.status(first, survey.StatusSent)
		h.use(survey.Options{Gates: &gate.Options{HashKey: hashKeyOfHost}}, h.memory())
		second := h.ingest(strings.Replace(visit, "40956", "40957", 1)).Items[0].Instances[0].PublicID
		h.drain()
		h.status(second, survey.StatusSent)
		out := notify.New(h.store, &notify.Options{HashKey: hashKeyOfHost, Gates: gate.New(h.store, &gate.Options{HashKey: hashKeyOfHost})},
			notify.ChannelFunc("memory:default", h.send))
		_, err := out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Record: storage.Record{Type: "memory:default"}, PartitionKey: "a", NotificationType: "visit",
			RecipientRef: "sam", Address: "sam", Content: notify.Content{Text: "hello"},
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A list that somebody has written under a key is not read without it, also if
// nothing else has been hashed yet.
func TestWithoutTheKeyOfTheSuppressionListNothingGoesOut(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{Logger: quiet()}, h.memory())
		h.publish(csiGR)
		before := h.ingest().Items[0].Instances[0].PublicID
		h.drain()
		h.status(before, survey.StatusSent)
		support := notify.New(h.store, &notify.Options{HashKey: hashKeyOfHost})
		err := support.Contacts().Suppress(h.t.Context(), "", notify.Unsubscribe, someone, notify.Destination{Method: "email", Address: "gone@example.com"})
		if err != nil {
			h.t.Fatal(err)
		}
		id := h.ingest(strings.Replace(visit, "40956", "40957", 1)).Items[0].Instances[0].PublicID
		h.drain()
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 1 || i.ReasonCode != survey.ReasonGateFailed {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}
