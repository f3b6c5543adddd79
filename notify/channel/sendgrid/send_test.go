package sendgrid

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

//spec:f-008
func TestMailArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	m := message()
	m.HTML = "<p>It expires <b>soon</b>. <img src=cid:logo></p>"
	m.UnsubscribeURL = "https://school.example/u?t=abc"
	m.Attachments = []notify.Attachment{
		{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")},
		{Name: "logo.png", MediaType: "image/png", ContentID: "logo", Data: []byte("png")},
	}
	c := open(t, s, Options{ReplyTo: "Head <head@school.example>"})
	receipt, err := c.Send(t.Context(), m)
	if err != nil || receipt.ID != "LRzXl_NHStOGhQ4kofSm_A" {
		t.Fatal(receipt, err)
	}
	requests, mails := s.seen()
	want := []mailRequest{{
		Personalizations: []personalization{{To: []party{{"sam@canary.example", "Sam"}}, CustomArgs: map[string]string{"belfry_message": id}}},
		From:             &party{"office@school.example", "School"}, ReplyTo: &party{"head@school.example", "Head"},
		Subject: "Your certificate", Content: []part{{"text/plain", m.Text}, {"text/html", m.HTML}},
		Attachments: []attachment{
			{[]byte("%PDF"), "application/pdf", "certificate.pdf", "attachment", ""},
			{[]byte("png"), "image/png", "logo.png", "inline", "logo"},
		},
		Headers: map[string]string{"Auto-Submitted": "auto-generated", "List-Unsubscribe": "<https://school.example/u?t=abc>",
			"List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
	}}
	if diff := cmp.Diff(want, mails); diff != "" || requests != 1 {
		t.Error(requests, diff)
	}
}

func TestEveryPartMayBeMissingButTheSubject(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{})
	m := message()
	for _, parts := range []struct{ text, html string }{{"text", ""}, {"", "<p>html"}, {"", ""}} {
		m.Text, m.HTML = parts.text, parts.html
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Error(parts, err)
		}
	}
	_, mails := s.seen()
	want := [][]part{{{"text/plain", "text"}}, {{"text/html", "<p>html"}}, {{"text/plain", "Your certificate"}}}
	var got [][]part
	for _, m := range mails {
		got = append(got, m.Content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessageThatMakesNoMailIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{})
	for name, change := range map[string]func(*notify.Message){
		"address":    func(m *notify.Message) { m.To = "Sam <sam@canary.example>" },
		"id":         func(m *notify.Message) { m.ID = "A\n" },
		"subject":    func(m *notify.Message) { m.Subject = "" },
		"template":   func(m *notify.Message) { m.Template.Name = "d-canary" },
		"attachment": func(m *notify.Message) { m.Attachments = []notify.Attachment{{Name: "a"}} },
		"header 1":   func(m *notify.Message) { m.Subject = "Hello\r\nBcc: canary@canary.example" },
		"header 2":   func(m *notify.Message) { m.Name = "Sam\nBcc: canary@canary.example" },
		"header 3":   func(m *notify.Message) { m.UnsubscribeURL = "https://a.b/\r\nBcc: canary@canary.example" },
		"header 4":   func(m *notify.Message) { m.UnsubscribeURL = "https://a.b/>,<mailto:canary@canary.example" },
		"header 5":   func(m *notify.Message) { m.UnsubscribeURL = "javascript:canary" },
		"header 6": func(m *notify.Message) {
			m.Attachments = []notify.Attachment{{Name: "a\r\nb: canary", Data: []byte("a")}}
		},
	} {
		m := message()
		change(&m)
		err := refuse(t, c, m)
		code, _, _ := strings.Cut(name, " ")
		if err.Class != notify.ClassPermanent || err.Code != code || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

func TestLargestAttachmentsAreSent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	m := message()
	m.Attachments = []notify.Attachment{{Name: "a.bin", MediaType: "application/octet-stream", Data: make([]byte, notify.MaxAttachments)}}
	if _, err := open(t, s, Options{}).Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func TestWrongKeyIsTransient(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c, err := New("SG.canary", &Options{From: "office@school.example", BaseURL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := refuse(t, c, message()); err.Class != notify.ClassTransient || err.Code != "401" || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestMissingMessageIDIsNoFault(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusAccepted)
		return true
	})
	if receipt, err := open(t, s, Options{}).Send(t.Context(), message()); err != nil || receipt.ID != "" {
		t.Error(receipt, err)
	}
}
