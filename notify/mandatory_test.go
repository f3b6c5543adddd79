package notify_test

import (
	"testing"

	"github.com/belfry-go/belfry/notify"
)

// The process that sends has only the channel; another one has made the messages.
func TestAMandatoryMessageIsMandatoryWhoeverSendsIt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		made := notify.New(h.store, &notify.Options{Logger: quiet})
		made.Register(notify.Type{Name: "reset", Mandatory: true, Renderer: visitTemplate})
		h.Notifier = made
		job := visit("7", person("sam"))
		job.Type = "reset"
		h.dispatch(job)
		h.ensure(letter("ensured", "sam", func(m *notify.OutgoingMessage) { m.NotificationType = "reset" }))
		h.drain()
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "sam", OptedOut: true})
		if err := h.Contacts().Suppress(t.Context(), "tenant", notify.Complaint, support, notify.Destination{"email", "sam@example.com"}); err != nil {
			t.Fatal(err)
		}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Unsubscribe: unsubscribe}, h.provider)
		h.ensure(letter("unknown here", "sam", func(m *notify.OutgoingMessage) { m.NotificationType = "reset" }))
		h.drain()
		sent := h.sent()
		if len(sent) != 2 || sent[0].UnsubscribeURL+sent[1].UnsubscribeURL != "" {
			t.Errorf("sent %+v", sent)
		}
		h.same("not known to be mandatory", notify.ReasonSuppressed, h.row("unknown here").ReasonCode)
	})
}
