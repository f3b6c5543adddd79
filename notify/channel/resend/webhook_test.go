package resend

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

// body is an event after the documentation's examples, with our tag.
func body(kind, more string) string {
	return fmt.Sprintf(`{"type":%q,"created_at":"2026-03-01T08:00:05.000Z","data":{"broadcast_id":null,"created_at":"2026-03-01 07:59:00.000+00",
 "email_id":"56761188-7520-42d8-8898-ff6fc54ce618","from":"School <office@school.example>","to":["sam@canary.example"],"subject":"canary",
 "tags":{"category":"certificate","belfry_message":%q}%s}}`, kind, id, more)
}

func TestEventsAreRead(t *testing.T) {
	t.Parallel()
	const failed, bounced = channel.KindFailed, channel.KindBounced
	event := func(eventID string, kind channel.StatusKind, code string, lasting bool) channel.StatusEvent {
		return channel.StatusEvent{Provider: "resend", EventID: eventID, Kind: kind, On: now.Add(5 * time.Second), MessageID: id,
			ProviderMessageID: "56761188-7520-42d8-8898-ff6fc54ce618", Code: code, Lasting: lasting, Address: "sam@canary.example"}
	}
	one := func(kind channel.StatusKind, code string) []channel.StatusEvent {
		return []channel.StatusEvent{event("msg_1", kind, code, false)}
	}
	for name, c := range map[string]struct {
		body string
		want []channel.StatusEvent
	}{
		"sent":          {body("email.sent", ""), one(channel.KindAccepted, "")},
		"delayed":       {body("email.delivery_delayed", ""), one(channel.KindAccepted, "")},
		"delivered":     {body("email.delivered", ""), one(channel.KindDelivered, "")},
		"opened":        {body("email.opened", ""), one(channel.KindOpened, "")},
		"clicked":       {body("email.clicked", `,"click":{"ipAddress":"122.115.53.11","link":"https://canary.example"}`), one(channel.KindOpened, "")},
		"complained":    {body("email.complained", ""), one(channel.KindComplained, "")},
		"failed":        {body("email.failed", `,"failed":{"reason":"reached_daily_quota"}`), one(failed, "reached_daily_quota")},
		"failed oddly":  {body("email.failed", `,"failed":{"reason":"sam@canary.example"}`), one(failed, "")},
		"suppressed":    {body("email.suppressed", `,"suppressed":{"type":"OnAccountSuppressionList","message":"canary"}`), one(failed, "suppressed")},
		"bounced":       {body("email.bounced", `,"bounce":{"message":"sam@canary.example","subType":"General","type":"Permanent"}`), []channel.StatusEvent{event("msg_1", failed, "permanent", false), event("msg_1:bounced", bounced, "permanent", true)}},
		"bounced once":  {body("email.bounced", `,"bounce":{"message":"full","subType":"MailboxFull","type":"Transient"}`), []channel.StatusEvent{event("msg_1", failed, "transient", false), event("msg_1:bounced", bounced, "transient", false)}},
		"tags as list":  {strings.Replace(body("email.delivered", ""), fmt.Sprintf(`{"category":"certificate","belfry_message":%q}`, id), fmt.Sprintf(`[{"name":"belfry_message","value":%q}]`, id), 1), one(channel.KindDelivered, "")},
		"scheduled":     {body("email.scheduled", ""), nil},
		"a contact":     {`{"type":"contact.created","created_at":"2026-03-01T08:00:05.000Z","data":{"email":"sam@canary.example"}}`, nil},
		"of others":     {strings.Replace(body("email.delivered", ""), "belfry_message", "x", 1), nil},
		"an odd id":     {strings.Replace(body("email.delivered", ""), id, "canary canary", 1), nil},
		"tags as text":  {`{"type":"email.delivered","data":{"tags":"canary"}}`, nil},
		"an empty body": {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := webhook(t, secret).Events(callback(t, secret, "msg_1", now, c.body))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
			if strings.Contains(fmt.Sprint(got), "canary") {
				t.Error("an event holds an address")
			}
		})
	}
}

// A copy's event is not told apart where it names several people.
func TestEventAboutSeveralNamesNobody(t *testing.T) {
	t.Parallel()
	two := strings.Replace(body("email.delivered", ""), `["sam@canary.example"]`, `["sam@canary.example","kim@canary.example"]`, 1)
	if got, err := webhook(t, secret).Events(callback(t, secret, "msg_1", now, two)); err != nil || len(got) != 1 || got[0].Address != "" {
		t.Errorf("%#v, %v", got, err)
	}
}

func TestForgedCallbackIsRefused(t *testing.T) {
	t.Parallel()
	const other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	sent := body("email.delivered", "")
	for name, change := range map[string]func(*channel.WebhookRequest){
		"no signature":    func(r *channel.WebhookRequest) { r.Header.Del("svix-signature") },
		"no time":         func(r *channel.WebhookRequest) { r.Header.Del("svix-timestamp") },
		"no id":           func(r *channel.WebhookRequest) { r.Header.Del("svix-id") },
		"no headers":      func(r *channel.WebhookRequest) { r.Header = nil },
		"another id":      func(r *channel.WebhookRequest) { r.Header.Set("svix-id", "msg_2") },
		"another time":    func(r *channel.WebhookRequest) { r.Header.Set("svix-timestamp", "1772352001") },
		"another body":    func(r *channel.WebhookRequest) { r.Body = append(r.Body, '\n') },
		"another secret":  func(r *channel.WebhookRequest) { *r = callback(t, other, "msg_1", now, sent) },
		"too old":         func(r *channel.WebhookRequest) { r.Now = now.Add(5*time.Minute + time.Second) },
		"from the future": func(r *channel.WebhookRequest) { r.Now = now.Add(-5*time.Minute - time.Second) },
		"read only":       func(r *channel.WebhookRequest) { r.Method = http.MethodGet },
		"huge": func(r *channel.WebhookRequest) {
			*r = callback(t, secret, "msg_1", now, sent+strings.Repeat(" ", 1<<20))
		},
		"headers' new name": func(r *channel.WebhookRequest) { r.Header = http.Header{"Webhook-Id": {"msg_1"}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := callback(t, secret, "msg_1", now, sent)
			change(&r)
			got, err := webhook(t, secret).Events(r)
			if !errors.Is(err, channel.ErrWebhookRefused) || got != nil || strings.Contains(err.Error(), "canary") {
				t.Error(got, err)
			}
		})
	}
	if _, err := webhook(t, other, secret).Events(callback(t, secret, "msg_1", now, sent)); err != nil {
		t.Error("while a secret is replaced:", err)
	}
	if _, err := new(Webhook).Events(callback(t, secret, "msg_1", now, sent)); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error("without a secret:", err)
	}
}

func TestSecretThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{nil, {""}, {"whsec_canary"}, {secret, "canary"}} {
		if w, err := NewWebhook(secrets...); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(w, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", webhook(t, secret), webhook(t, secret), webhook(t, secret)); strings.Contains(text, "MfKQ") {
		t.Error("a printed webhook shows its secret")
	}
}

func TestSignedNonsenseIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "canary", `["canary"]`, `{"data":"canary"}`} {
		got, err := webhook(t, secret).Events(callback(t, secret, "msg_1", now, body))
		if err == nil || errors.Is(err, channel.ErrWebhookRefused) || strings.Contains(err.Error(), "canary") || got != nil {
			t.Errorf("%q: %v, %v", body, got, err)
		}
	}
}

// FuzzRead looks for an event that is signed and yet breaks the parser, or could not be
// stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(body("email.bounced", `,"bounce":{"type":"Permanent"}`)))
	f.Add([]byte(`{"type":["email.sent"],"created_at":1e99,"data":{"email_id":7,"to":{},"tags":[{"name":"belfry_message","value":"a"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read("msg_1", body)
		for _, e := range got {
			if e.EventID == "" || e.MessageID == "" || e.Kind == "" || len(e.Code) > 40 || strings.ContainsAny(e.EventID+e.ProviderMessageID+e.Code, " \x00") || e.On.Year() > 2300 {
				t.Errorf("%+v", e)
			}
		}
	})
}
