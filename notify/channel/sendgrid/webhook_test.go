package sendgrid

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// events are the callbacks of the documentation, with our custom argument.
const events = `[
 {"email":"sam@canary.example","timestamp":1772352000,"smtp-id":"<14c5d75ce93.dfd.64b469@ismtpd-555>","event":"processed","category":["cat facts"],"sg_event_id":"e1","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352001,"event":"deferred","sg_event_id":"e2","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.recvd-5f5","response":"400 try again later","attempt":"5","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352002,"event":"delivered","sg_event_id":"e3","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.recvd-5f5","response":"250 OK","tls":1,"belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352003,"event":"open","sg_machine_open":true,"sg_event_id":"e4","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.recvd-5f5","useragent":"Mozilla","ip":"255.255.255.255","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352004,"event":"click","sg_event_id":"e5","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.recvd-5f5","url":"http://www.sendgrid.com/","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352005,"event":"bounce","type":"bounce","status":"5.1.1","bounce_classification":"Invalid Address","reason":"550 5.1.1 sam@canary.example unknown","sg_event_id":"e6","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.recvd-5f5","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352006,"event":"bounce","type":"blocked","reason":"blocked sam@canary.example","sg_event_id":"e7","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352007,"event":"dropped","reason":"Bounced Address","sg_event_id":"e8","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.recvd-5f5","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352008,"event":"dropped","reason":"sam@canary.example is odd","sg_event_id":"e9","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352009,"event":"spamreport","sg_event_id":"e10","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352010,"event":"unsubscribe","sg_event_id":"e11","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352011,"event":"group_unsubscribe","asm_group_id":10,"sg_event_id":"e12","belfry_message":"%[1]s"},
 {"email":"sam@canary.example","timestamp":1772352012,"event":"group_resubscribe","asm_group_id":10,"sg_event_id":"e13","belfry_message":"%[1]s"},
 {"event":"account_status_change","sg_event_id":"e14","timestamp":1772352013,"type":"compliance_suspend"},
 {"email":"other@canary.example","timestamp":1772352014,"event":"delivered","sg_event_id":"e15","sg_message_id":"of.another.program"},
 {"email":"sam@canary.example","timestamp":"soon","event":"open","sg_event_id":"e16","belfry_message":"%[1]s"}
]`

func TestEventsAreRead(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	got, err := webhook(t, s).Events(s.callback(t, now, fmt.Sprintf(events, id)))
	if err != nil {
		t.Fatal(err)
	}
	const sg = "LRzXl_NHStOGhQ4kofSm_A"
	event := func(eventID string, kind channel.StatusKind, second int, providerID, code string) channel.StatusEvent {
		return channel.StatusEvent{Provider: "sendgrid", EventID: eventID, Kind: kind, On: now.Add(time.Duration(second) * time.Second),
			MessageID: id, ProviderMessageID: providerID, Code: code, Address: "sam@canary.example"}
	}
	want := []channel.StatusEvent{
		event("e1", channel.KindAccepted, 0, sg, ""), event("e2", channel.KindAccepted, 1, sg, ""), event("e3", channel.KindDelivered, 2, sg, ""),
		event("e4", channel.KindOpened, 3, sg, ""), event("e5", channel.KindOpened, 4, sg, ""),
		event("e6", channel.KindFailed, 5, sg, "5.1.1"), event("e6:bounced", channel.KindBounced, 5, sg, "5.1.1"),
		event("e7", channel.KindFailed, 6, "", "blocked"), event("e7:bounced", channel.KindBounced, 6, "", "blocked"),
		event("e8", channel.KindFailed, 7, sg, "bounced-address"),
		event("e8:bounced", channel.KindBounced, 7, sg, "bounced-address"), event("e9", channel.KindFailed, 8, "", "dropped"),
		event("e10", channel.KindComplained, 9, "", ""), event("e11", channel.KindUnsubscribed, 10, "", ""), event("e12", channel.KindUnsubscribed, 11, "", ""), event("e13", channel.KindResubscribed, 12, "", ""),
		event("e16", channel.KindOpened, 0, "", ""),
	}
	want[6].Lasting, want[10].Lasting = true, true
	want[14].List, want[15].List = "10", "10" // the groups of who left one and came back to it
	want[len(want)-1].On = time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(fmt.Sprint(got), "canary") {
		t.Error("an event holds an address")
	}
}

// TestPublishedSignature is the example of SendGrid's own libraries.
func TestPublishedSignature(t *testing.T) {
	t.Parallel()
	w, err := NewWebhook("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	h.Set("X-Twilio-Email-Event-Webhook-Signature", "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=")
	h.Set("X-Twilio-Email-Event-Webhook-Timestamp", "1600112502")
	body := `[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]` + "\r\n"
	r := channel.WebhookRequest{Method: http.MethodPost, Header: h, Body: []byte(body), Now: time.Unix(1600112502, 0)}
	if got, err := w.Events(r); err != nil || len(got) != 0 {
		t.Error(got, err) // signed, but no mail of ours
	}
	r.Body = []byte(strings.Replace(body, "dropped", "delivered", 1))
	if _, err := w.Events(r); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error(err)
	}
}

func TestForgedCallbackIsRefused(t *testing.T) {
	t.Parallel()
	s, other := serve(t, nil), serve(t, nil)
	body := fmt.Sprintf(events, id)
	for name, change := range map[string]func(*channel.WebhookRequest){
		"no signature":        func(r *channel.WebhookRequest) { r.Header.Del(signatureHeader) },
		"no time":             func(r *channel.WebhookRequest) { r.Header.Del(timestampHeader) },
		"no headers":          func(r *channel.WebhookRequest) { r.Header = nil },
		"signature is noise":  func(r *channel.WebhookRequest) { r.Header.Set(signatureHeader, "AAAA") },
		"signature no base64": func(r *channel.WebhookRequest) { r.Header.Set(signatureHeader, "%") },
		"another time":        func(r *channel.WebhookRequest) { r.Header.Set(timestampHeader, "1772352001") },
		"another body":        func(r *channel.WebhookRequest) { r.Body = []byte(strings.Replace(string(r.Body), "open", "Open", 1)) },
		"another spelling":    func(r *channel.WebhookRequest) { r.Body = append(r.Body, '\n') },
		"another key":         func(r *channel.WebhookRequest) { *r = other.callback(t, now, body) },
		"too old":             func(r *channel.WebhookRequest) { r.Now = now.Add(window + time.Second) },
		"from the future":     func(r *channel.WebhookRequest) { r.Now = now.Add(-window - time.Second) },
		"read only":           func(r *channel.WebhookRequest) { r.Method = http.MethodGet },
		"huge":                func(r *channel.WebhookRequest) { *r = s.callback(t, now, body+strings.Repeat(" ", 1<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.callback(t, now, body)
			change(&r)
			got, err := webhook(t, s).Events(r)
			if !errors.Is(err, channel.ErrWebhookRefused) || got != nil || strings.Contains(err.Error(), "canary") {
				t.Error(got, err)
			}
		})
	}
}

func TestTimeIsFreshForFiveMinutes(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for _, off := range []time.Duration{-window, 0, window} {
		r := s.callback(t, now, "[]")
		r.Now = now.Add(off)
		if _, err := webhook(t, s).Events(r); err != nil {
			t.Error(off, err)
		}
	}
}

func TestWithoutAKeyEverythingIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	if _, err := new(Webhook).Events(s.callback(t, now, "[]")); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error(err)
	}
	rsa := "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK0canary"
	for _, keys := range [][]string{nil, {""}, {"canary"}, {s.publicKey(t), rsa}, {base64.StdEncoding.EncodeToString([]byte("canary"))}} {
		if w, err := NewWebhook(keys...); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(w, err)
		}
	}
}

func TestOldAndNewKeyHoldWhileOneIsReplaced(t *testing.T) {
	t.Parallel()
	before, after := serve(t, nil), serve(t, nil)
	w, err := NewWebhook(before.publicKey(t), after.publicKey(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*server{before, after} {
		if _, err := w.Events(s.callback(t, now, "[]")); err != nil {
			t.Error(err)
		}
	}
}

func TestSignedNonsenseIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for _, body := range []string{"", "canary", `{"canary":1}`, `["canary"]`} {
		got, err := webhook(t, s).Events(s.callback(t, now, body))
		if err == nil || errors.Is(err, channel.ErrWebhookRefused) || strings.Contains(err.Error(), "canary") || got != nil {
			t.Errorf("%q: %v, %v", body, got, err)
		}
	}
}

// FuzzRead looks for a callback that is signed and yet breaks the parser, or
// whose events could not be stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{"event":"bounce","type":"blocked","sg_event_id":"e","sg_message_id":"a.filter1","belfry_message":"a","timestamp":1772352000,"status":"5.1.1"}]`))
	f.Add([]byte(`[{"event":["bounce"],"sg_event_id":7,"belfry_message":"a","timestamp":1e99,"status":"+4915112345678"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read(body)
		for _, e := range got {
			if e.EventID == "" || e.MessageID == "" || e.Kind == "" || len(e.Code) > 40 || strings.ContainsAny(e.EventID+e.ProviderMessageID+e.Code, " \x00") || e.On.Year() > 2300 {
				t.Errorf("%+v", e)
			}
		}
	})
}

// What SendGrid itself sends nothing to any more is suppressed here too.
func TestDropsTellWhatSendGridKnowsOfAnAddress(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]channel.StatusKind{
		"Bounced Address": channel.KindBounced, "Invalid": channel.KindBounced, "Unsubscribed Address": channel.KindUnsubscribed,
		"Spam Reporting Address": channel.KindComplained, "Spam Content": "", "Recipient List over Package Quota": "",
	} {
		e := event{Event: "dropped", Reason: rest.Text(reason), ID: "e1", Ours: rest.Text(id)}
		var got channel.StatusKind
		if all := e.events(); len(all) > 1 {
			got = all[1].Kind
			if all[1].Lasting != (got == channel.KindBounced) {
				t.Errorf("%s lasts: %t", reason, all[1].Lasting)
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", reason, got, want)
		}
	}
}
