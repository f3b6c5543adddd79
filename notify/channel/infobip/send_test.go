package infobip

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
)

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	templated := func(m *channel.Message) {
		m.Template = channel.ProviderTemplate{Name: "certificate_1", Params: []string{"Sam", "1 March"}}
	}
	for name, c := range map[string]struct {
		whatsApp bool
		change   func(*channel.Message)
		want     string
	}{
		"SMS": {false, templated, `{"messages":[{"sender":"School","destinations":[{"to":"41793026727","messageId":"` + id + `"}],` +
			`"content":{"text":"It expires soon."},"webhooks":{"callbackData":"` + id + `"}}]}`},
		"WhatsApp text": {true, func(*channel.Message) {}, `{"from":"447860099299","to":"41793026727","messageId":"` + id + `",` +
			`"content":{"text":"It expires soon."},"callbackData":"` + id + `"}`},
		"WhatsApp template": {true, templated, `{"messages":[{"from":"447860099299","to":"41793026727","messageId":"` + id + `",` +
			`"content":{"templateName":"certificate_1","templateData":{"body":{"placeholders":["Sam","1 March"]}},"language":"en"},"callbackData":"` + id + `"}]}`},
		"WhatsApp template in a language": {true, func(m *channel.Message) { m.Template.Name, m.Locale = "x", "en-GB" },
			`{"messages":[{"from":"447860099299","to":"41793026727","messageId":"` + id + `",` +
				`"content":{"templateName":"x","templateData":{"body":{"placeholders":[]}},"language":"en_GB"},"callbackData":"` + id + `"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			ch := sms(t, s, Options{})
			if c.whatsApp {
				ch = whatsApp(t, s)
			}
			m := message()
			c.change(&m)
			receipt, err := ch.Send(t.Context(), m)
			if err != nil || receipt.ID != id {
				t.Fatal(receipt, err)
			}
			requests, bodies := s.seen()
			if diff := cmp.Diff(map[string]string{id: c.want}, bodies); diff != "" || requests != 1 {
				t.Error(requests, diff)
			}
		})
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for name, change := range map[string]func(*channel.Message){
		"address":     func(m *channel.Message) { m.To = "041 793 canary" },
		"id":          func(m *channel.Message) { m.ID = "A" },
		"empty":       func(m *channel.Message) { m.Text, m.HTML = "", "<p>canary" },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "a"}} },
		"template 1":  func(m *channel.Message) { m.Template.Name = "Canary name" },
		"template 2":  func(m *channel.Message) { m.Template = channel.ProviderTemplate{Name: "a", Params: []string{""}} },
		"language":    func(m *channel.Message) { m.Template.Name, m.Locale = "a", "canary!" },
	} {
		m := message()
		change(&m)
		err := refuse(t, whatsApp(t, s), m)
		code, _, _ := strings.Cut(name, " ")
		if err.Class != channel.ClassPermanent || err.Code != code || strings.Contains(strings.ToLower(err.Error()), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := message()
	m.Text, m.Template.Name = "", "certificate"
	if err := refuse(t, sms(t, s, Options{}), m); err.Code != "empty" {
		t.Error("a template by SMS:", err)
	}
	if requests, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

// TestRepeatIsKnown sends a message again whose first answer was lost: Infobip
// has it once, and the logs tell.
func TestRepeatIsKnown(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := sms(t, s, Options{})
	if _, err := c.Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	m := message()
	m.Attempt = 2
	if err := refuse(t, c, m); err.Class != channel.ClassUnknown || err.Code != "200 REJECTED_DUPLICATE_MESSAGE_ID" {
		t.Error(err)
	}
	if got, err := c.Lookup(t.Context(), m); err != nil || got.Status != channel.LookupAccepted || got.Receipt.ID != id {
		t.Error(got, err)
	}
}

// sendOutcome is what a Send error comes to.
type sendOutcome struct {
	Class      channel.Class
	Code       string
	RetryAfter time.Duration
}

type script = func(http.ResponseWriter, *http.Request) bool

// says is the script that answers with a documented error.
func says(status int, messageID string, retryAfter ...string) script {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if retryAfter != nil {
			w.Header().Set("Retry-After", retryAfter[0])
		}
		fault(w, status, messageID, "about +41793026727")
		return true
	}
}

// status200 is the script that answers with a status of the message.
func status200(group, name string) script {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		write(w, http.StatusOK, map[string]any{"messages": []any{answered(id, "41793026727", group, name)}})
		return true
	}
}

// raw is the script that answers with that text.
func raw(status int, text string) script {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script script
		want   sendOutcome
	}{
		"bad request":      {says(400, "BAD_REQUEST"), sendOutcome{channel.ClassPermanent, "400 BAD_REQUEST", 0}},
		"bad request, new": {raw(400, `{"errorCode":"E400","description":"+41793026727","action":"Check","violations":[],"resources":[]}`), sendOutcome{channel.ClassPermanent, "400 E400", 0}},
		"wrong key":        {says(401, "UNAUTHORIZED"), sendOutcome{channel.ClassTransient, "401 UNAUTHORIZED", 0}},
		"no scope":         {says(403, "FORBIDDEN"), sendOutcome{channel.ClassTransient, "403 FORBIDDEN", 0}},
		"too many":         {says(429, "TOO_MANY_REQUESTS", "3"), sendOutcome{channel.ClassTransient, "429 TOO_MANY_REQUESTS", 3 * time.Second}},
		"fails":            {says(500, "GENERAL_ERROR"), sendOutcome{channel.ClassUnknown, "500 GENERAL_ERROR", 0}},
		"gateway fails":    {raw(502, "<html>+41793026727"), sendOutcome{channel.ClassUnknown, "502", 0}},
		"not available":    {says(503, "SERVICE_UNAVAILABLE", "9"), sendOutcome{channel.ClassTransient, "503 SERVICE_UNAVAILABLE", 9 * time.Second}},
		"moved":            {raw(302, ""), sendOutcome{channel.ClassTransient, "302", 0}},
		"no credits":       {status200(rejected, "REJECTED_NOT_ENOUGH_CREDITS"), sendOutcome{channel.ClassTransient, "200 REJECTED_NOT_ENOUGH_CREDITS", 0}},
		"package expired":  {status200(rejected, "REJECTED_PREPAID_PACKAGE_EXPIRED"), sendOutcome{channel.ClassTransient, "200 REJECTED_PREPAID_PACKAGE_EXPIRED", 0}},
		"flooding":         {status200(rejected, "REJECTED_FLOODING_FILTER"), sendOutcome{channel.ClassTransient, "200 REJECTED_FLOODING_FILTER", 0}},
		"system error":     {status200(rejected, "REJECTED_SYSTEM_ERROR"), sendOutcome{channel.ClassTransient, "200 REJECTED_SYSTEM_ERROR", 0}},
		"bad destination":  {status200(rejected, "REJECTED_DESTINATION"), sendOutcome{channel.ClassPermanent, "200 REJECTED_DESTINATION", 0}},
		"undeliverable":    {status200(undeliverable, "UNDELIVERABLE_REJECTED_OPERATOR"), sendOutcome{channel.ClassPermanent, "200 UNDELIVERABLE_REJECTED_OPERATOR", 0}},
		"expired":          {status200(expired, "EXPIRED_EXPIRED"), sendOutcome{channel.ClassPermanent, "200 EXPIRED_EXPIRED", 0}},
		"duplicate":        {status200(rejected, duplicate), sendOutcome{channel.ClassUnknown, "200 REJECTED_DUPLICATE_MESSAGE_ID", 0}},
		"new group":        {status200("QUEUED", "QUEUED_+41793026727"), sendOutcome{channel.ClassUnknown, "200", 0}},
		"strange page":     {raw(200, "<html>+41793026727"), sendOutcome{channel.ClassUnknown, "200 no-status", 0}},
		"no message":       {raw(200, `{"messages":[]}`), sendOutcome{channel.ClassUnknown, "200 no-status", 0}},
		"half a JSON":      {raw(200, `{"messages":[{"status":{"groupName":"PENDING"`), sendOutcome{channel.ClassUnknown, "200 no-status", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.script)
			err := refuse(t, sms(t, s, Options{}), message())
			if diff := cmp.Diff(c.want, sendOutcome{err.Class, err.Code, err.RetryAfter}); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if text := err.Error(); strings.Contains(text, "41793026727") || strings.Contains(text, apiKey) {
				t.Error("personal data in the error:", err)
			}
			if requests, _ := s.seen(); requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

func TestDeliveredAtOnceIsAccepted(t *testing.T) {
	t.Parallel()
	s := serve(t, status200(delivered, "DELIVERED_TO_HANDSET"))
	if _, err := sms(t, s, Options{}).Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
}

func TestI30_SendEndsWithItsContextAndItsTimeout(t *testing.T) {
	t.Parallel()
	answer, read := sendtest.Silent()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	})
	sendtest.Ends(t, sms(t, s, Options{}), message(), read)
	sendtest.Late(t, sms(t, serve(t, nil), Options{Timeout: time.Nanosecond}), message())
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := NewSMS("http://canary.example", "canary key", &Options{From: "canary@school!", Language: "English", Timeout: -time.Second, MaxConns: -1})
	for _, want := range []string{"baseURL", "apiKey", "From is not a number", "Language", "Timeout", "MaxConns"} {
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

func TestAnswersBlameTheChannelOrTheAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script script
		want   channel.Fault
	}{
		"wrong key":       {says(401, "UNAUTHORIZED"), channel.FaultAccount},
		"too many":        {says(429, "TOO_MANY_REQUESTS"), channel.FaultAccount},
		"no credits":      {status200(rejected, "REJECTED_NOT_ENOUGH_CREDITS"), channel.FaultAccount},
		"bad destination": {status200(rejected, "REJECTED_DESTINATION"), channel.FaultAddress},
		"undeliverable":   {status200(undeliverable, "UNDELIVERABLE_REJECTED_OPERATOR"), channel.FaultAddress},
		"rejected":        {status200(rejected, "REJECTED_MESSAGE_SIZE"), ""},
		"not available":   {says(503, "SERVICE_UNAVAILABLE"), channel.FaultProvider},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, sms(t, serve(t, c.script), Options{}), message()); err.Fault != c.want {
				t.Errorf("%v blames %q, want %q", err, err.Fault, c.want)
			}
		})
	}
}

func TestAnswersSuppressANumberThatDoesNotExist(t *testing.T) {
	t.Parallel()
	with := func(err string) script {
		return raw(200, `{"messages":[{"messageId":"x","status":{"groupName":"UNDELIVERABLE","name":"UNDELIVERABLE_NOT_DELIVERED"},"error":{"name":"`+err+`","permanent":true}}]}`)
	}
	for name, c := range map[string]struct {
		script script
		want   channel.SuppressionReason
	}{
		"unknown":         {with("EC_UNKNOWN_SUBSCRIBER"), channel.HardBounce},
		"absent":          {with("EC_ABSENT_SUBSCRIBER"), ""},
		"bad destination": {status200(rejected, "REJECTED_DESTINATION"), ""},
		"no credits":      {status200(rejected, "REJECTED_NOT_ENOUGH_CREDITS"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, sms(t, serve(t, c.script), Options{}), message()); err.Suppress != c.want {
				t.Errorf("%v suppresses for %q, want %q", err, err.Suppress, c.want)
			}
		})
	}
}
