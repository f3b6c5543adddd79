package twilio

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

const id = "0123456789abcdef0123456789abcdef"

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func message() channel.Message {
	return channel.Message{ID: id, To: "+14155550100", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now}
}

// sms makes a channel to the server that lasts as long as the test.
func sms(t *testing.T, s *server, o Options) *Channel {
	t.Helper()
	o.BaseURL = s.url
	if o.From == "" && o.MessagingServiceSID == "" {
		o.From = "+15017122661"
	}
	c, err := NewSMS(account, token, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func whatsApp(t *testing.T, s *server) *Channel {
	t.Helper()
	c, err := NewWhatsApp(account, token, &Options{BaseURL: s.url, From: "+14155238886"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// refuse expects m to be refused, and returns how.
func refuse(t *testing.T, c *Channel, m channel.Message) *channel.Error {
	t.Helper()
	receipt, err := c.Send(t.Context(), m)
	typed, ok := err.(*channel.Error)
	if !ok || receipt != (channel.Receipt{}) {
		t.Fatalf("Send: %+v, %v", receipt, err)
	}
	return typed
}

func webhook(t *testing.T, tokens ...string) *Webhook {
	t.Helper()
	w, err := NewWebhook(tokens...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
