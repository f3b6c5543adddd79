package twilio

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

const address = "https://school.example/hooks/twilio?belfry_message=" + id

func TestStatusesAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status, code string
		want         []channel.StatusEvent
	}{
		{"accepted", "", kind(channel.KindAccepted)}, {"scheduled", "", kind(channel.KindAccepted)}, {"queued", "", kind(channel.KindAccepted)},
		{"sending", "", kind(channel.KindAccepted)}, {"sent", "", kind(channel.KindAccepted)},
		{"delivered", "", kind(channel.KindDelivered)}, {"read", "", kind(channel.KindOpened)},
		{"canceled", "", kind(channel.KindFailed)},
		{"failed", "30007", []channel.StatusEvent{{Kind: channel.KindFailed, Code: "30007"}}},
		{"undelivered", "30003", []channel.StatusEvent{{Kind: channel.KindFailed, Code: "30003"}}},
		{"undelivered", "+14155550100", kind(channel.KindFailed)},
		{"undelivered", "30005", []channel.StatusEvent{{Kind: channel.KindFailed, Code: "30005"}, {EventID: ":30005", Kind: channel.KindBounced, Code: "30005", Lasting: true}}},
		{"failed", "21610", []channel.StatusEvent{{Kind: channel.KindFailed, Code: "21610"}, {EventID: ":21610", Kind: channel.KindUnsubscribed, Code: "21610"}}},
		{"received", "", nil}, {"receiving", "", nil}, {"new status", "", nil},
	} {
		for i := range c.want {
			e := &c.want[i]
			e.Provider, e.EventID, e.MessageID, e.ProviderMessageID = "twilio", sid+":"+c.status+e.EventID, id, sid
		}
		got, err := webhook(t, token).Events(callback(address, c.status, c.code))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Error(c.status, c.code, err, diff)
		}
	}
}

func kind(k channel.StatusKind) []channel.StatusEvent { return []channel.StatusEvent{{Kind: k}} }

func TestCallbackWithoutOurIDHasTwiliosOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://school.example/hooks/twilio", "https://school.example/hooks/twilio?belfry_message=%2B14155550100"} {
		got, err := webhook(t, token).Events(callback(address, "delivered", ""))
		if err != nil || len(got) != 1 || got[0].MessageID != "" || got[0].ProviderMessageID != sid {
			t.Error(got, err)
		}
	}
}

func TestCallbackOfAnIncomingMessageIsLeftOut(t *testing.T) {
	t.Parallel()
	r := callback(address, "delivered", "")
	params := url.Values{"MessageSid": {"+14155550100"}, "MessageStatus": {"delivered"}}
	r.Body = []byte(params.Encode())
	r.Header.Set("X-Twilio-Signature", signer(token)([]byte(address+joined(params))))
	if got, err := webhook(t, token).Events(r); err != nil || got != nil {
		t.Error(got, err)
	}
}

// A text that takes STOP back names its number; other texts are left out.
func TestAStartIsARecipientWhoComesBack(t *testing.T) {
	t.Parallel()
	back := func(method string) []channel.StatusEvent {
		return []channel.StatusEvent{{Provider: "twilio", EventID: sid + ":returned", Kind: channel.KindResubscribed, Method: method, Address: "+14155550100"}}
	}
	for name, c := range map[string]struct {
		from, body, as, status string
		want                   []channel.StatusEvent
	}{
		"start":                 {"+14155550100", " start ", "", "received", back("sms")},
		"unstop":                {"+14155550100", "UNSTOP", "", "received", back("sms")},
		"a word of the account": {"+14155550100", "hola", "START", "received", back("sms")},
		"by WhatsApp":           {"whatsapp:+14155550100", "START", "", "received", back("whatsapp")},
		"stop":                  {"+14155550100", "STOP", "STOP", "received", nil},
		"start, for help":       {"+14155550100", "START", "HELP", "received", nil},
		"another text":          {"+14155550100", "start tomorrow?", "", "received", nil},
		"not an incoming one":   {"+14155550100", "START", "", "delivered", nil},
	} {
		r := callback(address, "delivered", "")
		params := url.Values{"MessageSid": {sid}, "From": {c.from}, "Body": {c.body}, "SmsStatus": {c.status}}
		if c.as != "" {
			params.Set("OptOutType", c.as)
		}
		r.Body = []byte(params.Encode())
		r.Header.Set("X-Twilio-Signature", signer(token)([]byte(address+joined(params))))
		got, err := webhook(t, token).Events(r)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Error(name, err, diff)
		}
	}
}

func TestForgedCallbackIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*channel.WebhookRequest){
		"no signature":      func(r *channel.WebhookRequest) { r.Header.Del("X-Twilio-Signature") },
		"no headers":        func(r *channel.WebhookRequest) { r.Header = nil },
		"noise":             func(r *channel.WebhookRequest) { r.Header.Set("X-Twilio-Signature", "AAAA") },
		"another status":    func(r *channel.WebhookRequest) { r.Body = []byte(strings.ReplaceAll(string(r.Body), "sent", "read")) },
		"another parameter": func(r *channel.WebhookRequest) { r.Body = append(r.Body, "&ErrorCode=30005"...) },
		"no body":           func(r *channel.WebhookRequest) { r.Body = nil },
		"another message":   func(r *channel.WebhookRequest) { r.URL = strings.Replace(r.URL, "=0123", "=1123", 1) },
		"another host":      func(r *channel.WebhookRequest) { r.URL = strings.Replace(r.URL, "school", "canary", 1) },
		"another scheme":    func(r *channel.WebhookRequest) { r.URL = strings.Replace(r.URL, "https", "http", 1) },
		"no URL":            func(r *channel.WebhookRequest) { r.URL = "" },
		"no URL at all":     func(r *channel.WebhookRequest) { r.URL = "https://canary:%zz/" },
		"hash in the query": func(r *channel.WebhookRequest) { r.URL += "&bodySHA256=00" },
		"another type":      func(r *channel.WebhookRequest) { r.Header.Set("Content-Type", "text/plain") },
		"bad query":         func(r *channel.WebhookRequest) { r.URL += "&a=%zz" },
		"bad form":          func(r *channel.WebhookRequest) { r.Body = append(r.Body, "&a=%zz"...) },
		"read only":         func(r *channel.WebhookRequest) { r.Method = http.MethodGet },
		"huge":              func(r *channel.WebhookRequest) { r.Body = append(r.Body, "&a="+strings.Repeat("a", 1<<20)...) },
		"status twice": func(r *channel.WebhookRequest) {
			params, _ := url.ParseQuery(string(r.Body))
			params.Add("MessageStatus", "delivered")
			r.Body = []byte(params.Encode())
			r.Header.Set("X-Twilio-Signature", signer(token)([]byte(address+joined(params))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := callback(address, "sent", "")
			change(&r)
			got, err := webhook(t, token).Events(r)
			if !errors.Is(err, channel.ErrWebhookRefused) || got != nil || strings.Contains(err.Error(), "canary") {
				t.Error(got, err)
			}
		})
	}
}

func TestWithoutATokenEverythingIsRefused(t *testing.T) {
	t.Parallel()
	r := callback(address, "sent", "")
	r.Header.Set("X-Twilio-Signature", signer("")([]byte(address)))
	if _, err := new(Webhook).Events(r); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error(err)
	}
	for _, tokens := range [][]string{nil, {""}, {"good", "canary token"}} {
		if w, err := NewWebhook(tokens...); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(w, err)
		}
	}
}

func TestOldAndNewTokenHoldWhileOneIsReplaced(t *testing.T) {
	t.Parallel()
	for _, tokens := range [][]string{{token, "new"}, {"old", token}} {
		if _, err := webhook(t, tokens...).Events(callback(address, "sent", "")); err != nil {
			t.Error(err)
		}
	}
	if _, err := webhook(t, "old", "new").Events(callback(address, "sent", "")); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error(err)
	}
}
