package dialog360

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

// statuses are the callbacks of the documentation, in one, with our message id.
const statuses = `{"object":"whatsapp_business_account","entry":[{"id":"102290129340398","changes":[
 {"value":{"messaging_product":"whatsapp","metadata":{"display_phone_number":"15550783881","phone_number_id":"106540352242922"},
  "statuses":[
   {"id":"wamid.a","status":"sent","timestamp":"1772352000","recipient_id":"41793026727","biz_opaque_callback_data":"%[1]s",
    "conversation":{"id":"6d43","expiration_timestamp":"1772438400","origin":{"type":"utility"}},"pricing":{"billable":true,"pricing_model":"CBP","category":"utility"}},
   {"id":"wamid.a","status":"delivered","timestamp":"1772352001","recipient_id":"41793026727","biz_opaque_callback_data":"%[1]s"},
   {"id":"wamid.a","status":"read","timestamp":1772352002,"recipient_id":"41793026727","biz_opaque_callback_data":"%[1]s"}]},"field":"messages"},
 {"value":{"statuses":[
   {"id":"wamid.b","status":"failed","timestamp":"1772352003","recipient_id":"41793026727","biz_opaque_callback_data":"%[1]s",
    "errors":[{"code":131026,"title":"Message undeliverable","message":"about +41793026727","error_data":{"details":"about +41793026727"}}]},
   {"id":"wamid.c","status":"failed","timestamp":"soon","biz_opaque_callback_data":"%[1]s","errors":[{"code":131050,"title":"User has stopped marketing messages"}]},
   {"id":"wamid.d","status":"sent","timestamp":"1772352000"},
   {"id":"wamid.e","status":"sent","timestamp":"1772352000","biz_opaque_callback_data":"Of Another Program"},
   {"id":"wamid.f","status":"warning","biz_opaque_callback_data":"%[1]s"}]},"field":"messages"}]},
 {"id":"1","changes":[{"value":{"contacts":[{"profile":{"name":"Sam"},"wa_id":"41793026727"}],
  "messages":[{"from":"41793026727","id":"wamid.g","timestamp":"1772352000","text":{"body":"canary"},"type":"text"}]},"field":"messages"}]}]}`

func webhook(t *testing.T) *Webhook {
	t.Helper()
	w, err := NewWebhook("Authorization", secret)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func request(body string) channel.WebhookRequest {
	return channel.WebhookRequest{Method: http.MethodPost, URL: "https://school.example/hooks/dialog360", Header: http.Header{"Authorization": {secret}}, Body: []byte(body), Now: now}
}

func TestStatusesAreRead(t *testing.T) {
	t.Parallel()
	got, err := webhook(t).Events(request(fmt.Sprintf(statuses, id)))
	if err != nil {
		t.Fatal(err)
	}
	event := func(event string, kind channel.StatusKind, second int, ours, code string) channel.StatusEvent {
		theirs, _, _ := strings.Cut(event, ":")
		return channel.StatusEvent{Provider: "dialog360", EventID: event, Kind: kind, On: now.Add(time.Duration(second) * time.Second), MessageID: ours, ProviderMessageID: theirs, Code: code}
	}
	want := []channel.StatusEvent{
		event("wamid.a:sent", channel.KindAccepted, 0, id, ""), event("wamid.a:delivered", channel.KindDelivered, 1, id, ""), event("wamid.a:read", channel.KindOpened, 2, id, ""),
		event("wamid.b:failed", channel.KindFailed, 3, id, "131026"),
		event("wamid.c:failed", channel.KindFailed, 0, id, "131050"), event("wamid.c:unsubscribed", channel.KindUnsubscribed, 0, id, "131050"),
		event("wamid.d:sent", channel.KindAccepted, 0, "", ""),
	}
	want[4].On, want[5].On = time.Time{}, time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := fmt.Sprint(got); strings.Contains(text, "41793026727") || strings.Contains(text, "canary") {
		t.Error("an event holds a number or a text")
	}
}

func TestForgedCallbackIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*channel.WebhookRequest){
		"no header":    func(r *channel.WebhookRequest) { r.Header.Del("Authorization") },
		"no headers":   func(r *channel.WebhookRequest) { r.Header = nil },
		"another":      func(r *channel.WebhookRequest) { r.Header.Set("Authorization", "Basic Y2FuYXJ5OmNhbmFyeQ==") },
		"empty":        func(r *channel.WebhookRequest) { r.Header.Set("Authorization", "") },
		"a part":       func(r *channel.WebhookRequest) { r.Header.Set("Authorization", secret[:len(secret)-1]) },
		"more":         func(r *channel.WebhookRequest) { r.Header.Set("Authorization", secret+"a") },
		"two headers":  func(r *channel.WebhookRequest) { r.Header.Add("Authorization", "canary") },
		"other header": func(r *channel.WebhookRequest) { r.Header = http.Header{"X-Secret": {secret}} },
		"read only":    func(r *channel.WebhookRequest) { r.Method = http.MethodGet },
		"huge":         func(r *channel.WebhookRequest) { r.Body = make([]byte, 2<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(fmt.Sprintf(statuses, id))
			change(&r)
			if got, err := webhook(t).Events(r); !errors.Is(err, channel.ErrWebhookRefused) || got != nil || strings.Contains(err.Error(), "canary") {
				t.Error(got, err)
			}
		})
	}
	if _, err := new(Webhook).Events(request("{}")); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error("a webhook without a secret:", err)
	}
}

func TestOldAndNewValueHoldWhileOneIsReplaced(t *testing.T) {
	t.Parallel()
	w, err := NewWebhook("X-Secret", "old-canary-0123456", "new-canary-0123456")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"old-canary-0123456", "new-canary-0123456"} {
		r := request("{}")
		r.Header = http.Header{}
		r.Header.Set("x-secret", value)
		if _, err := w.Events(r); err != nil {
			t.Error(err)
		}
	}
	if text := fmt.Sprintf("%+v %#v", w, w); strings.Contains(text, "canary") {
		t.Error("a printed webhook shows its secret")
	}
}

func TestWebhookNeedsASecretThatCannotBeGuessed(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{{"", secret}, {"X-Secret"}, {"X-Secret", ""}, {"X-Secret", "canary"}, {"X Secret", secret}, {"X-Secret", secret, "canary"}} {
		if w, err := NewWebhook(c[0], c[1:]...); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(w, err)
		}
	}
	if got := BasicAuth("Aladdin", "open sesame"); got != "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" { // RFC 7617
		t.Error(got)
	}
}

func TestProvedNonsenseIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "canary", `["canary"]`, `{"entry":"canary"}`} {
		got, err := webhook(t).Events(request(body))
		if err == nil || errors.Is(err, channel.ErrWebhookRefused) || strings.Contains(err.Error(), "canary") || got != nil {
			t.Errorf("%q: %v, %v", body, got, err)
		}
	}
}

// FuzzRead looks for a callback that breaks the parser, or whose events could not
// be stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(statuses, id)))
	f.Add([]byte(`{"entry":[{"changes":[{"value":{"statuses":[{"id":7,"status":"failed","timestamp":1e99,"biz_opaque_callback_data":{"a":1},"errors":[{"code":"+41793026727"}]}]}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read(body)
		for _, e := range got {
			if e.ProviderMessageID == "" || e.Kind == "" || len(e.Code) > 40 || len(e.EventID) > 260 || strings.ContainsAny(e.EventID+e.Code+e.MessageID, " \x00") || e.On.Year() > 2300 {
				t.Errorf("%+v", e)
			}
		}
	})
}
