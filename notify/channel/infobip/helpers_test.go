package infobip

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
)

const id = "0123456789abcdef0123456789abcdef"

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func message() notify.Message {
	return notify.Message{ID: id, To: "+41793026727", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now, Attempt: 1}
}

// sms makes a channel to the server that lasts as long as the test.
func sms(t *testing.T, s *server, o Options) *Channel {
	t.Helper()
	o.From = "School"
	c, err := NewSMS(s.url, apiKey, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func whatsApp(t *testing.T, s *server) *Channel {
	t.Helper()
	c, err := NewWhatsApp(s.url, apiKey, &Options{From: "+447860099299"})
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

func webhook(t *testing.T, o WebhookOptions) *Webhook {
	t.Helper()
	w, err := NewWebhook(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var basicOptions = WebhookOptions{Username: "school", Password: "sesame"}
