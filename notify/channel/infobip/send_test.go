package infobip

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	templated := func(m *notify.Message) {
		m.Template = notify.ProviderTemplate{Name: "certificate_1", Params: []string{"Sam", "1 March"}}
	}
	for name, c := range map[string]struct {
		whatsApp bool
		change   func(*notify.Message)
		want     string
	}{
		"SMS": {false, templated, `{"messages":[{"sender":"School","destinations":[{"to":"41793026727","messageId":"` + id + `"}],` +
			`"content":{"text":"It expires soon."},"webhooks":{"callbackData":"` + id + `"}}]}`},
		"WhatsApp text": {true, func(*notify.Message) {}, `{"from":"447860099299","to":"41793026727","messageId":"` + id + `",` +
			`"content":{"text":"It expires soon."},"callbackData":"` + id + `"}`},
		"WhatsApp template": {true, templated, `{"messages":[{"from":"447860099299","to":"41793026727","messageId":"` + id + `",` +
			`"content":{"templateName":"certificate_1","templateData":{"body":{"placeholders":["Sam","1 March"]}},"language":"en"},"callbackData":"` + id + `"}]}`},
		"WhatsApp template in a language": {true, func(m *notify.Message) { m.Template.Name, m.Locale = "x", "en-GB" },
			`{"messages":[{"from":"447860099299","to":"41793026727","messageId":"` + id + `",` +
				`"content":{"templateName":"x","templateData":{"body":{"placeholders":[]}},"language":"en_GB"},"callbackData":"` + id + `"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			ch := sms(t, s, Options{})
			if c.whatsApp {
				ch = whatsApp(t, s)
			}
			m := message()
			c.change(&m)
			receipt, err := ch.Send(t.Context(), m)
			if err != nil || receipt.ID != id {
				t.Fatal(receipt, err)
			}
			requests, bodies := s.seen()
			if diff := cmp.Diff(map[string]string{id: c.want}, bodies); diff != "" || requests != 1 {
				t.Error(requests, diff)
			}
		})
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for name, change := range map[string]func(*notify.Message){
		"address":     func(m *notify.Message) { m.To = "041 793 canary" },
		"id":          func(m *notify.Message) { m.ID = "A" },
		"empty":       func(m *notify.Message) { m.Text, m.HTML = "", "<p>canary" },
		"attachments": func(m *notify.Message) { m.Attachments = []notify.Attachment{{Name: "a"}} },
		"template 1":  func(m *notify.Message) { m.Template.Name = "Canary name" },
		"template 2":  func(m *notify.Message) { m.Template = notify.ProviderTemplate{Name: "a", Params: []string{""}} },
		"language":    func(m *notify.Message) { m.Template.Name, m.Locale = "a", "canary!" },
	} {
		m := message()
		change(&m)
		err := refuse(t, whatsApp(t, s), m)
		code, _, _ := strings.Cut(name, " ")
		if err.Class != notify.ClassPermanent || err.Code != code || strings.Contains(strings.ToLower(err.Error()), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := message()
	m.Text, m.Template.Name = "", "certificate"
	if err := refuse(t, sms(t, s, Options{}), m); err.Code != "empty" {
		t.Error("a template by SMS:", err)
	}
	if requests, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

// TestRepeatIsKnown sends a message again whose first answer was lost: Infobip
// has it once, and the logs tell.
func TestRepeatIsKnown(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := sms(t, s, Options{})
	if _, err := c.Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	m := message()
	m.Attempt = 2
	if err := refuse(t, c, m); err.Class != notify.ClassUnknown || err.Code != "200 REJECTED_DUPLICATE_MESSAGE_ID" {
		t.Error(err)
	}
	if got, err := c.Lookup(t.Context(), m); err != nil || got.Status != notify.LookupAccepted || got.Receipt.ID != id {
		t.Error(got, err)
	}
}
