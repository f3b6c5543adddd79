package infobip

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

// reports are those of the documentation, with our ids.
const reports = `{"results":[
 {"bulkId":"b","messageId":"%[1]s","to":"41793026727","sentAt":"2026-03-01T07:59:00.000+0000","doneAt":"2026-03-01T09:00:00.000+0100","messageCount":1,"callbackData":"%[1]s","price":{"pricePerMessage":0.01,"currency":"EUR"},
  "status":{"groupId":3,"groupName":"DELIVERED","id":5,"name":"DELIVERED_TO_HANDSET","description":"Message delivered to handset"},"error":{"groupId":0,"groupName":"Ok","id":0,"name":"NO_ERROR","description":"No Error","permanent":false}},
 {"messageId":"%[1]s","doneAt":"2026-03-01T08:00:00.000+0000","status":{"groupId":3,"groupName":"DELIVERED","id":2,"name":"DELIVERED_TO_OPERATOR"}},
 {"messageId":"%[1]s","status":{"groupId":1,"groupName":"PENDING","id":7,"name":"PENDING_ENROUTE"}},
 {"messageId":"%[1]s","doneAt":"2026-03-01T08:00:00Z","status":{"groupId":2,"groupName":"UNDELIVERABLE","id":9,"name":"UNDELIVERABLE_NOT_DELIVERED","description":"to 41793026727"},"error":{"id":1,"name":"EC_UNKNOWN_SUBSCRIBER","permanent":true}},
 {"messageId":"%[1]s","doneAt":"soon","status":{"groupId":4,"groupName":"EXPIRED","id":15,"name":"EXPIRED_EXPIRED"},"error":{"id":27,"name":"EC_ABSENT_SUBSCRIBER"}},
 {"messageId":"%[1]s","status":{"groupId":5,"groupName":"REJECTED","id":14,"name":"REJECTED_DESTINATION"}},
 {"messageId":"%[1]s","status":{"groupId":5,"groupName":"REJECTED","id":23,"name":"REJECTED_DUPLICATE_MESSAGE_ID"}},
 {"messageId":"%[1]s","from":"447860099299","to":"41793026727","sentAt":"2026-03-01T07:59:00.000+0000","seenAt":"2026-03-01T08:00:00.000+0000"},
 {"messageId":"of another program","status":{"groupName":"DELIVERED","name":"DELIVERED_TO_HANDSET"}},
 {"messageId":"%[1]s","status":{"groupName":"NEW","name":"NEW"}},
 {"from":"41793026727","message":{"type":"TEXT","text":"STOP"}}
]}`

func TestReportsAreRead(t *testing.T) {
	t.Parallel()
	got, err := webhook(t, basicOptions).Events(callback(fmt.Sprintf(reports, id)))
	if err != nil {
		t.Fatal(err)
	}
	event := func(eventID string, kind channel.StatusKind, on time.Time, code string) channel.StatusEvent {
		return channel.StatusEvent{Provider: "infobip", EventID: id + ":" + eventID, Kind: kind, On: on, MessageID: id, ProviderMessageID: id, Code: code}
	}
	want := []channel.StatusEvent{
		event("DELIVERED_TO_HANDSET", channel.KindDelivered, now, ""),
		event("DELIVERED_TO_OPERATOR", channel.KindAccepted, now, ""),
		event("PENDING_ENROUTE", channel.KindAccepted, time.Time{}, ""),
		event("UNDELIVERABLE_NOT_DELIVERED", channel.KindFailed, now, "EC_UNKNOWN_SUBSCRIBER"),
		event("UNDELIVERABLE_NOT_DELIVERED:BOUNCED", channel.KindBounced, now, "EC_UNKNOWN_SUBSCRIBER"),
		event("EXPIRED_EXPIRED", channel.KindFailed, time.Time{}, "EC_ABSENT_SUBSCRIBER"),
		event("REJECTED_DESTINATION", channel.KindFailed, time.Time{}, "REJECTED_DESTINATION"),
		event("SEEN", channel.KindOpened, now, ""),
	}
	want[4].Lasting = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestForgedReportIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*channel.WebhookRequest){
		"no credentials":   func(r *channel.WebhookRequest) { r.Header.Del("Authorization") },
		"no headers":       func(r *channel.WebhookRequest) { r.Header = nil },
		"another password": func(r *channel.WebhookRequest) { r.Header.Set("Authorization", "Basic c2Nob29sOmNhbmFyeQ==") },
		"another scheme":   func(r *channel.WebhookRequest) { r.Header.Set("Authorization", "Bearer c2Nob29sOnNlc2FtZQ==") },
		"read only":        func(r *channel.WebhookRequest) { r.Method = http.MethodGet },
		"huge":             func(r *channel.WebhookRequest) { r.Body = append(r.Body, strings.Repeat(" ", 1<<20)...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := callback(fmt.Sprintf(reports, id))
			change(&r)
			if got, err := webhook(t, basicOptions).Events(r); !errors.Is(err, channel.ErrWebhookRefused) || got != nil {
				t.Error(got, err)
			}
		})
	}
}

func TestSignatureIsOverTheRawBody(t *testing.T) {
	t.Parallel()
	body := fmt.Sprintf(reports, id)
	mac := hmac.New(sha256.New, []byte("key"))
	_, _ = mac.Write([]byte(body))
	sum := mac.Sum(nil)
	w := webhook(t, WebhookOptions{HMACKey: "key", HMACHeader: "X-Signature"})
	for signature, ok := range map[string]bool{
		hex.EncodeToString(sum): true, "sha256=" + hex.EncodeToString(sum): true, base64.StdEncoding.EncodeToString(sum): true,
		"": false, "sha256=": false, "%": false, hex.EncodeToString(sum[:20]): false, hex.EncodeToString(make([]byte, 32)): false,
	} {
		r := callback(body)
		r.Header.Set("X-Signature", signature)
		if got, err := w.Events(r); (err == nil) != ok || ok != (len(got) > 0) || !ok && !errors.Is(err, channel.ErrWebhookRefused) {
			t.Errorf("%q: %v, %v", signature, got, err)
		}
		r.Body = append(r.Body, ' ')
		if _, err := w.Events(r); !errors.Is(err, channel.ErrWebhookRefused) {
			t.Errorf("%q on another body: %v", signature, err)
		}
	}
}

func TestBothProofsMustHoldWhereBothAreConfigured(t *testing.T) {
	t.Parallel()
	o := basicOptions
	o.HMACKey, o.HMACHeader = "key", "X-Signature"
	if _, err := webhook(t, o).Events(callback(`{"results":[]}`)); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error(err)
	}
}

func TestWithoutCredentialsEverythingIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := new(Webhook).Events(callback(`{"results":[]}`)); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error(err)
	}
	for _, o := range []WebhookOptions{{}, {Username: "canary"}, {Password: "canary"}, {HMACKey: "canary"}, {HMACHeader: "X"}, {Username: "a", Password: "canary", HMACKey: "canary"}} {
		if w, err := NewWebhook(o); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(w, err)
		}
	}
}

func TestProvedNonsenseIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "canary", `["canary"]`, `{"results":"canary"}`} {
		got, err := webhook(t, basicOptions).Events(callback(body))
		if err == nil || errors.Is(err, channel.ErrWebhookRefused) || strings.Contains(err.Error(), "canary") || got != nil {
			t.Errorf("%q: %v, %v", body, got, err)
		}
	}
}

// FuzzRead looks for a report that breaks the parser, or whose events could not
// be stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"results":[{"messageId":"a","doneAt":"2026-03-01T09:00:00.000+0100","status":{"groupName":"DELIVERED","name":"DELIVERED_TO_HANDSET"}}]}`))
	f.Add([]byte(`{"results":[{"messageId":7,"callbackData":{"a":1},"status":{"groupName":"REJECTED","name":["x"]},"error":{"name":"+41793026727"},"seenAt":1e9}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read(body)
		for _, e := range got {
			if e.ProviderMessageID == "" || e.Kind == "" || len(e.Code) > 40 || len(e.EventID) > 260 || strings.ContainsAny(e.EventID+e.Code+e.MessageID, "@ \x00") {
				t.Errorf("%+v", e)
			}
		}
	})
}
