package infobip

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := NewSMS("http://canary.example", "canary key", &Options{From: "canary@school!", Language: "English", Timeout: -time.Second, MaxConns: -1})
	for _, want := range []string{"baseURL", "apiKey", "From is no number", "Language", "Timeout", "MaxConns"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v says nothing about %s", err, want)
		}
	}
	if strings.Contains(fmt.Sprint(err), "canary") {
		t.Error("the error holds a setting that may be a credential:", err)
	}
	if _, err := NewSMS("", "", nil); err == nil || !strings.Contains(err.Error(), "From is required") {
		t.Error(err)
	}
}

func TestSenders(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]struct{ sms, whatsApp bool }{
		"+447860099299": {true, true},
		"School":        {true, false},
		"55155":         {true, false},
		"a\nb":          {false, false},
	} {
		_, err := NewSMS("https://x.api.infobip.com", apiKey, &Options{From: from})
		_, err2 := NewWhatsApp("https://x.api.infobip.com", apiKey, &Options{From: from})
		if (err == nil) != want.sms || (err2 == nil) != want.whatsApp {
			t.Errorf("%s: %v; %v", from, err, err2)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	o := &Options{From: "+447860099299"}
	text, err := NewSMS("https://x.api.infobip.com", apiKey, o)
	if err != nil || text.Key() != "sms:infobip" {
		t.Error(text, err)
	}
	chat, err := NewWhatsApp("https://x.api.infobip.com", apiKey, o)
	if err != nil || chat.Key() != "whatsapp:infobip" {
		t.Error(chat, err)
	}
	o.Key = "sms:backup"
	if text, err = NewSMS("https://x.api.infobip.com", apiKey, o); err != nil || text.Key() != "sms:backup" {
		t.Error(text, err)
	}
}

func TestNothingPrintedShowsACredential(t *testing.T) {
	t.Parallel()
	c, err := NewSMS("https://x.api.infobip.com", "canary", &Options{From: "School"})
	if err != nil {
		t.Fatal(err)
	}
	w := webhook(t, WebhookOptions{Username: "u", Password: "canary", HMACKey: "canary", HMACHeader: "X-Signature"})
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb+verb, c, w); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}
