package postmark

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

const metadata = `"Metadata":{"a_key":"canary","belfry_message":"` + id + `"}`

// bounce is one after the documentation's example.
func bounce(kind string) string {
	return `{"RecordType":"Bounce","MessageStream":"outbound","ID":4323372036854775807,"Type":"` + kind + `","TypeCode":1,"Name":"canary","Tag":"Test",
 "MessageID":"883953f4-6105",` + metadata + `,"ServerID":23,"Description":"canary","Details":"sam@canary.example","Email":"sam@canary.example","From":"office@school.example",
 "BouncedAt":"2026-03-01T08:00:05.6421112Z","DumpAvailable":true,"Inactive":true,"CanActivate":true,"Subject":"canary","Content":"canary"}`
}

func change(suppressed, reason, origin string) string {
	return `{"RecordType":"SubscriptionChange","MessageID":"883953f4-6105","ServerID":123456,"MessageStream":"outbound","ChangedAt":"2026-03-01T08:00:05.642111Z",
 "Recipient":"sam@canary.example","Origin":"` + origin + `","SuppressSending":` + suppressed + `,"SuppressionReason":` + reason + `,"Tag":null,` + metadata + `}`
}

func delivery(recipient string) string {
	return `{"RecordType":"Delivery","ServerID":23,"MessageStream":"outbound","MessageID":"883953f4-6105","Recipient":"` + recipient + `","Tag":"welcome",
 "DeliveredAt":"2026-03-01T08:00:05.6421112Z","Details":"canary",` + metadata + `}`
}

// told is an event without its id.
type told struct {
	Kind    channel.StatusKind
	Code    string
	Lasting bool
}

func TestCallbacksAreRead(t *testing.T) {
	t.Parallel()
	const failed, bounced, accepted, complained, left = channel.KindFailed, channel.KindBounced, channel.KindAccepted, channel.KindComplained, channel.KindUnsubscribed
	for name, c := range map[string]struct {
		body string
		want []told
	}{
		"delivery":              {delivery("sam@canary.example"), []told{{channel.KindDelivered, "", false}}},
		"open":                  {`{"RecordType":"Open","FirstOpen":true,"MessageID":"883953f4-6105","ReceivedAt":"2026-03-01T08:00:05.6Z","Recipient":"sam@canary.example","UserAgent":"canary",` + metadata + `}`, []told{{channel.KindOpened, "", false}}},
		"click":                 {`{"RecordType":"Click","MessageID":"883953f4-6105","ReceivedAt":"2026-03-01T08:00:05.6Z","Recipient":"sam@canary.example","OriginalLink":"canary",` + metadata + `}`, []told{{channel.KindOpened, "", false}}},
		"complaint":             {strings.Replace(bounce("SpamComplaint"), `"Bounce"`, `"SpamComplaint"`, 1), []told{{complained, "SpamComplaint", false}}},
		"hard bounce":           {bounce("HardBounce"), []told{{failed, "HardBounce", false}, {bounced, "HardBounce", true}}},
		"bad address":           {bounce("BadEmailAddress"), []told{{failed, "BadEmailAddress", false}, {bounced, "BadEmailAddress", true}}},
		"soft bounce":           {bounce("SoftBounce"), []told{{failed, "SoftBounce", false}, {bounced, "SoftBounce", false}}},
		"blocked":               {bounce("Blocked"), []told{{failed, "Blocked", false}, {bounced, "Blocked", false}}},
		"odd bounce":            {bounce("sam@canary.example"), []told{{failed, "", false}, {bounced, "", false}}},
		"out of office":         {bounce("AutoResponder"), []told{{accepted, "AutoResponder", false}}},
		"unsubscribes":          {bounce("Unsubscribe"), []told{{left, "Unsubscribe", false}}},
		"complains so":          {bounce("SpamComplaint"), []told{{complained, "SpamComplaint", false}}},
		"deactivated":           {bounce("ManuallyDeactivated"), []told{{failed, "ManuallyDeactivated", false}}},
		"change: bounce":        {change("true", `"HardBounce"`, "Recipient"), []told{{bounced, "HardBounce", true}}},
		"change: spam":          {change("true", `"SpamComplaint"`, "Recipient"), []told{{complained, "SpamComplaint", false}}},
		"change: leaves":        {change("true", `"ManualSuppression"`, "Recipient"), []told{{left, "ManualSuppression", false}}},
		"change: by us":         {change("true", `"ManualSuppression"`, "Customer"), nil},
		"change: is back":       {change("false", "null", "Recipient"), []told{{channel.KindResubscribed, "", false}}},
		"change: allowed by us": {change("false", "null", "Customer"), nil},
		"inbound":               {`{"RecordType":"Inbound","From":"sam@canary.example"}`, nil},
		"without a type":        {`{"MessageID":"883953f4-6105",` + metadata + `}`, nil},
		"of others":             {strings.Replace(delivery("sam@canary.example"), "belfry_message", "x", 1), nil},
		"an odd id":             {strings.Replace(delivery("sam@canary.example"), id, "canary canary", 1), nil},
		"an empty object":       {`{}`, nil},
		"metadata is null":      {`{"RecordType":"Delivery","Metadata":null}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := webhook(t).Events(callback(password, c.body))
			var got []told
			for i, e := range events {
				got = append(got, told{e.Kind, e.Code, e.Lasting})
				if e.MessageID != id || e.ProviderMessageID != "883953f4-6105" || e.Address != "sam@canary.example" || e.On.Truncate(time.Second) != now.Add(5*time.Second) || e.Provider != "postmark" {
					t.Errorf("%#v", e)
				}
				if strings.Contains(c.body, "MessageStream") != (e.List == "outbound") {
					t.Errorf("the list is %q", e.List)
				}
				if i > 0 && e.EventID != events[0].EventID+":bounced" {
					t.Error(e.EventID)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
			if strings.Contains(fmt.Sprint(events), "canary") {
				t.Error("an event holds an address")
			}
		})
	}
}

// A callback that comes again is the same event; one of a copy, or of another time, is
// not.
func TestAReplayIsKnown(t *testing.T) {
	t.Parallel()
	eventID := func(body string) string {
		events, err := webhook(t).Events(callback(password, body))
		if err != nil || len(events) == 0 {
			t.Fatal(events, err)
		}
		return events[0].EventID
	}
	first := delivery("sam@canary.example")
	if again := eventID(first); again != eventID(first) {
		t.Error("a repetition is another event")
	}
	seen := map[string]string{}
	for _, body := range []string{first, delivery("kim@canary.example"), strings.Replace(first, "08:00:05", "08:00:06", 1),
		strings.Replace(first, "883953f4", "99", 1), bounce("SoftBounce"), strings.Replace(bounce("SoftBounce"), "4323", "4324", 1)} {
		if before := seen[eventID(body)]; before != "" {
			t.Errorf("the same id for\n%s\n%s", before, body)
		}
		seen[eventID(body)] = body
	}
}

func TestForgedCallbackIsRefused(t *testing.T) {
	t.Parallel()
	sent := delivery("sam@canary.example")
	for name, change := range map[string]func(*channel.WebhookRequest){
		"no password":      func(r *channel.WebhookRequest) { r.Header.Del("Authorization") },
		"no headers":       func(r *channel.WebhookRequest) { r.Header = nil },
		"another password": func(r *channel.WebhookRequest) { *r = callback("another-long-password", sent) },
		"another scheme":   func(r *channel.WebhookRequest) { r.Header.Set("Authorization", "Bearer "+password) },
		"read only":        func(r *channel.WebhookRequest) { r.Method = http.MethodGet },
		"huge":             func(r *channel.WebhookRequest) { *r = callback(password, sent+strings.Repeat(" ", 1<<20)) },
	} {
		r := callback(password, sent)
		change(&r)
		got, err := webhook(t).Events(r)
		if !errors.Is(err, channel.ErrWebhookRefused) || got != nil || strings.Contains(err.Error(), "canary") {
			t.Error(name, got, err)
		}
	}
	if _, err := new(Webhook).Events(callback("", sent)); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error("without a password:", err)
	}
}

func TestPasswordThatProvesNothingIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"", password}, {"postmark", ""}, {"postmark", "canary"}, {"postmark", "canary canary canary"}} {
		if w, err := NewWebhook(c[0], c[1]); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(w, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", webhook(t), webhook(t), webhook(t)); strings.Contains(text, password) {
		t.Error("a printed webhook shows its password")
	}
}

func TestProvedNonsenseIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "canary", `["canary"]`, `{"Metadata":"canary"}`} {
		got, err := webhook(t).Events(callback(password, body))
		if err == nil || errors.Is(err, channel.ErrWebhookRefused) || strings.Contains(err.Error(), "canary") || got != nil {
			t.Errorf("%q: %v, %v", body, got, err)
		}
	}
}

// FuzzRead looks for a callback that is proved and yet breaks the parser, or whose events
// could not be stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(bounce("HardBounce")))
	f.Add([]byte(`{"RecordType":"Delivery","MessageID":{},"DeliveredAt":1e99,"Metadata":{"belfry_message":"a"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read(body)
		for _, e := range got {
			if e.EventID == "" || e.MessageID == "" || e.Kind == "" || len(e.Code) > 40 || strings.ContainsAny(e.EventID+e.ProviderMessageID+e.Code, " \x00") || e.On.Year() > 2300 {
				t.Errorf("%+v", e)
			}
		}
	})
}
