package twilio

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestTextArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := sms(t, s, Options{StatusCallback: "https://school.example/hooks/twilio"})
	receipt, err := c.Send(t.Context(), message())
	if err != nil || receipt.ID != sid {
		t.Fatal(receipt, err)
	}
	requests, forms := s.seen()
	want := []url.Values{{"To": {"+14155550100"}, "From": {"+15017122661"}, "Body": {"It expires soon."},
		"StatusCallback": {"https://school.example/hooks/twilio?belfry_message=" + id}}}
	if diff := cmp.Diff(want, forms); diff != "" || requests != 1 {
		t.Error(requests, diff)
	}
}

func TestMessagingServiceChoosesTheSender(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	if _, err := sms(t, s, Options{MessagingServiceSID: service}).Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	_, forms := s.seen()
	want := []url.Values{{"To": {"+14155550100"}, "MessagingServiceSid": {service}, "Body": {"It expires soon."}}}
	if diff := cmp.Diff(want, forms); diff != "" {
		t.Error(diff)
	}
}

func TestWhatsAppSendsTemplatesAndText(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := whatsApp(t, s)
	m := message()
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	m.Template = channel.ProviderTemplate{Name: content, Params: []string{"Sam", `1 "March" & on`}}
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	m.Template.Params = nil
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	_, forms := s.seen()
	to, from := []string{"whatsapp:+14155550100"}, []string{"whatsapp:+14155238886"}
	want := []url.Values{
		{"To": to, "From": from, "Body": {"It expires soon."}},
		{"To": to, "From": from, "ContentSid": {content}, "ContentVariables": {`{"1":"Sam","2":"1 \"March\" \u0026 on"}`}},
		{"To": to, "From": from, "ContentSid": {content}},
	}
	if diff := cmp.Diff(want, forms); diff != "" {
		t.Error(diff)
	}
}

func TestAPIKeyCallsInsteadOfTheAuthToken(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c, err := NewSMS(account, "secret-of-the-key", &Options{BaseURL: s.url, From: "+15017122661", APIKeySID: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := sms(t, s, Options{})
	for code, change := range map[string]func(*channel.Message){
		"address":     func(m *channel.Message) { m.To = "0415 555 010 canary" },
		"id":          func(m *channel.Message) { m.ID = "A&B" },
		"empty":       func(m *channel.Message) { m.Text, m.HTML = "", "<p>canary" },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "a"}} },
		"template":    func(m *channel.Message) { m.Template.Name = "canary" },
	} {
		m := message()
		change(&m)
		err := refuse(t, c, m)
		if err.Class != channel.ClassPermanent || err.Code != code || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", code, err)
		}
	}
	if requests, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}
