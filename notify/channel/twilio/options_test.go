package twilio

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := NewSMS("canary", "canary secret", &Options{From: "canary@x", MessagingServiceSID: "canary", APIKeySID: "canary",
		StatusCallback: "canary", BaseURL: "http://api.example", Timeout: -time.Second, MaxConns: -1, Proxy: &url.URL{Host: "canary"}})
	for _, want := range []string{"accountSID", "secret", "only one of From", "MessagingServiceSID is not", "APIKeySID", "From is not a number",
		"StatusCallback", "BaseURL", "Timeout", "MaxConns", "Proxy"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v says nothing about %s", err, want)
		}
	}
	if strings.Contains(fmt.Sprint(err), "canary") {
		t.Error("the error holds a credential:", err)
	}
	if _, err := NewSMS("", "", nil); err == nil || !strings.Contains(err.Error(), "From or MessagingServiceSID is required") {
		t.Error(err)
	}
}

func TestSenders(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]struct{ sms, whatsApp bool }{
		"+15017122661":     {true, true},
		"55155":            {true, false},
		"School":           {true, false},
		"School of Dublin": {false, false},
		"15017122661":      {false, false},
	} {
		_, err := NewSMS(account, token, &Options{From: from})
		_, err2 := NewWhatsApp(account, token, &Options{From: from})
		if (err == nil) != want.sms || (err2 == nil) != want.whatsApp {
			t.Errorf("%s: %v; %v", from, err, err2)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	o := &Options{From: "+15017122661"}
	text, err := NewSMS(account, token, o)
	if err != nil || text.Key() != "sms:twilio" {
		t.Error(text, err)
	}
	chat, err := NewWhatsApp(account, token, o)
	if err != nil || chat.Key() != "whatsapp:twilio" {
		t.Error(chat, err)
	}
	o.Key = "sms:backup"
	if text, err = NewSMS(account, token, o); err != nil || text.Key() != "sms:backup" {
		t.Error(text, err)
	}
}

func TestWithoutAnAddressForThemThereAreNoCallbacks(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]bool{"": false, "https://school.example/hooks/twilio": true} {
		c, err := NewSMS(account, token, &Options{From: "+15017122661", StatusCallback: at})
		if err != nil || channel.CapabilitiesOf(c).Callbacks != want {
			t.Errorf("%q: %v", at, err)
		}
	}
}

func TestNothingPrintedShowsTheToken(t *testing.T) {
	t.Parallel()
	c, err := NewSMS(account, "canary", &Options{From: "+15017122661"})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb+verb, c, webhook(t, "canary")); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}
