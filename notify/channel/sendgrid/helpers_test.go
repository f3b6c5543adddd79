package sendgrid

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
)

const id = "0123456789abcdef0123456789abcdef"

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func message() notify.Message {
	return notify.Message{ID: id, To: "sam@canary.example", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now,
		Metadata: map[string]string{"class": "canary"}}
}

// open makes a channel to the server that lasts as long as the test.
func open(t *testing.T, s *server, o Options) *Channel {
	t.Helper()
	o.From, o.BaseURL = "School <office@school.example>", s.url
	c, err := New(apiKey, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// refuse expects m to be refused, and returns how.
func refuse(t *testing.T, c *Channel, m notify.Message) *notify.SendError {
	t.Helper()
	receipt, err := c.Send(t.Context(), m)
	typed, ok := err.(*notify.SendError)
	if !ok || receipt != (notify.Receipt{}) {
		t.Fatalf("Send: %+v, %v", receipt, err)
	}
	return typed
}

func webhook(t *testing.T, s *server) *Webhook {
	t.Helper()
	w, err := NewWebhook(s.publicKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return w
}
