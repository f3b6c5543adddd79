package dialog360

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{Language: "de"})
	plain, templated, bare := message(), message(), message()
	templated.Template, templated.Locale = notify.ProviderTemplate{Name: "expiry_1", Params: []string{"Sam", "1 May"}}, "pt-BR"
	bare.Template.Name, bare.Text = "hello", ""
	for _, m := range []notify.Message{plain, templated, bare} {
		if receipt, err := c.Send(t.Context(), m); err != nil || receipt.ID != wamid {
			t.Fatal(receipt, err)
		}
	}
	request := func(kind string, text *text, template *template) messageRequest {
		return messageRequest{Product: "whatsapp", Recipient: "individual", To: "+41793026727", Type: kind, Text: text, Template: template, Ours: id}
	}
	want := []messageRequest{
		request("text", &text{Body: "It expires soon."}, nil),
		request("template", nil, &template{"expiry_1", templateLocale{"pt_BR"}, []component{{"body", []parameter{{"text", "Sam"}, {"text", "1 May"}}}}}),
		request("template", nil, &template{"hello", templateLocale{"de"}, nil}),
	}
	if requests, got := s.seen(); requests != 3 || cmp.Diff(want, got) != "" {
		t.Error(requests, cmp.Diff(want, got))
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{})
	for name, change := range map[string]func(*notify.Message){
		"id":          func(m *notify.Message) { m.ID = "A" },
		"address":     func(m *notify.Message) { m.To = "079 302 67 27" },
		"address 2":   func(m *notify.Message) { m.To = "+41793026727,+4915112345678" },
		"attachments": func(m *notify.Message) { m.Attachments = []notify.Attachment{{Name: "canary"}} },
		"empty":       func(m *notify.Message) { m.Text = "" },
		"text":        func(m *notify.Message) { m.Text = strings.Repeat("ü", 4097) },
		"template":    func(m *notify.Message) { m.Template.Name = "Canary canary" },
		"template 2":  func(m *notify.Message) { m.Template = notify.ProviderTemplate{Name: "a", Params: []string{""}} },
		"language":    func(m *notify.Message) { m.Template.Name, m.Locale = "a", "canary\n" },
		"language 2":  func(m *notify.Message) { m.Template.Name, m.Locale = "a", "zh-Hans-CN" },
	} {
		m := message()
		change(&m)
		code, _, _ := strings.Cut(name, " ")
		if err := refuse(t, c, m); err.Class != notify.ClassPermanent || err.Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
	m := message()
	m.Text = strings.Repeat("ü", 4096)
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}
