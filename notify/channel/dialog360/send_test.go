package dialog360

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{Language: "de"})
	plain, templated, bare := message(), message(), message()
	templated.Template, templated.Locale = channel.ProviderTemplate{Name: "expiry_1", Params: []string{"Sam", "1 May"}}, "pt-BR"
	bare.Template.Name, bare.Text = "hello", ""
	for _, m := range []channel.Message{plain, templated, bare} {
		if receipt, err := c.Send(t.Context(), m); err != nil || receipt.ID != wamid {
			t.Fatal(receipt, err)
		}
	}
	request := func(kind string, text *text, template *template) messageRequest {
		return messageRequest{Product: "whatsapp", Recipient: "individual", To: "+41793026727", Type: kind, Text: text, Template: template, Ours: id}
	}
	want := []messageRequest{
		request("text", &text{Body: "It expires soon."}, nil),
		request("template", nil, &template{"expiry_1", templateLocale{"pt_BR"}, []component{{"body", []parameter{{"text", "Sam"}, {"text", "1 May"}}}}}),
		request("template", nil, &template{"hello", templateLocale{"de"}, nil}),
	}
	if requests, got := s.seen(); requests != 3 || cmp.Diff(want, got) != "" {
		t.Error(requests, cmp.Diff(want, got))
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{})
	for name, change := range map[string]func(*channel.Message){
		"id":          func(m *channel.Message) { m.ID = "A" },
		"address":     func(m *channel.Message) { m.To = "079 302 67 27" },
		"address 2":   func(m *channel.Message) { m.To = "+41793026727,+4915112345678" },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"empty":       func(m *channel.Message) { m.Text = "" },
		"text":        func(m *channel.Message) { m.Text = strings.Repeat("ü", 4097) },
		"template":    func(m *channel.Message) { m.Template.Name = "Canary canary" },
		"template 2":  func(m *channel.Message) { m.Template = channel.ProviderTemplate{Name: "a", Params: []string{""}} },
		"language":    func(m *channel.Message) { m.Template.Name, m.Locale = "a", "canary\n" },
		"language 2":  func(m *channel.Message) { m.Template.Name, m.Locale = "a", "zh-Hans-CN" },
	} {
		m := message()
		change(&m)
		code, _, _ := strings.Cut(name, " ")
		if err := refuse(t, c, m); err.Class != channel.ClassPermanent || err.Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
	m := message()
	m.Text = strings.Repeat("ü", 4096)
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

// sendOutcome is what a Send error comes to.
type sendOutcome struct {
	Class      channel.Class
	Code       string
	RetryAfter time.Duration
}

type script = func(http.ResponseWriter, *http.Request) bool

// says is the script that answers with that text.
func says(status int, body string, retryAfter ...string) script {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if retryAfter != nil {
			w.Header().Set("Retry-After", retryAfter[0])
		}
		write(w, status, body)
		return true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	for name, c := range map[string]struct {
		script script
		want   sendOutcome
	}{
		"own: rate":         {says(400, `{"meta":{"http_code":400,"developer_message":"You have exceeded the endpoint rate limit."}}`), sendOutcome{transient, "400", 0}},
		"own: not paid":     {says(400, `{"error":"Could not send message due to lack of payment: +41793026727"}`), sendOutcome{transient, "400", 0}},
		"own: wrong key":    {says(401, `{"error":"Invalid api_key"}`), sendOutcome{transient, "401", 0}},
		"own: blocked":      {says(403, `{"error":"The endpoint is blocked"}`), sendOutcome{transient, "403", 0}},
		"own: failed":       {says(500, `{"error":"Internal server error"}`), sendOutcome{unknown, "500", 0}},
		"own: no WhatsApp":  {says(502, `<html>+41793026727`), sendOutcome{unknown, "502", 0}},
		"too many":          {says(429, fault(80007), "7"), sendOutcome{transient, "429 80007", 7 * time.Second}},
		"unavailable":       {says(503, fault(2), "9"), sendOutcome{transient, "503 2", 9 * time.Second}},
		"service down":      {says(500, fault(131016)), sendOutcome{transient, "500 131016", 0}},
		"went wrong":        {says(500, fault(131000)), sendOutcome{unknown, "500 131000", 0}},
		"unknown with 400":  {says(400, fault(1)), sendOutcome{unknown, "400 1", 0}},
		"number rate":       {says(400, fault(130429), "3"), sendOutcome{transient, "400 130429", 3 * time.Second}},
		"pair rate":         {says(400, fault(131056)), sendOutcome{transient, "400 131056", 0}},
		"token expired":     {says(401, fault(190)), sendOutcome{transient, "401 190", 0}},
		"auth":              {says(400, fault(0)), sendOutcome{transient, "400 0", 0}},
		"permission":        {says(400, fault(200)), sendOutcome{transient, "400 200", 0}},
		"last permission":   {says(400, fault(299)), sendOutcome{transient, "400 299", 0}},
		"behind permission": {says(400, fault(300)), sendOutcome{permanent, "400 300", 0}},
		"template paused":   {says(400, fault(132015)), sendOutcome{transient, "400 132015", 0}},
		"account locked":    {says(403, fault(131031)), sendOutcome{transient, "403 131031", 0}},
		"country":           {says(403, fault(130497)), sendOutcome{permanent, "403 130497", 0}},
		"bad parameter":     {says(400, fault(100)), sendOutcome{permanent, "400 100", 0}},
		"undeliverable":     {says(400, fault(131026)), sendOutcome{permanent, "400 131026", 0}},
		"a day has passed":  {says(400, fault(131047)), sendOutcome{permanent, "400 131047", 0}},
		"no such template":  {says(404, fault(132001)), sendOutcome{permanent, "404 132001", 0}},
		"moved":             {says(302, ""), sendOutcome{transient, "302", 0}},
		"no id":             {says(200, `{"messages":[]}`), sendOutcome{unknown, "200 no-id", 0}},
		"two ids":           {says(200, `{"messages":[{"id":"a"},{"id":"b"}]}`), sendOutcome{unknown, "200 no-id", 0}},
		"strange page":      {says(200, `<html>+41793026727`), sendOutcome{unknown, "200 no-id", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.script)
			err := refuse(t, open(t, s, Options{}), message())
			if diff := cmp.Diff(c.want, sendOutcome{err.Class, err.Code, err.RetryAfter}); diff != "" {
				t.Error(err, diff)
			}
			if requests, _ := s.seen(); requests != 1 {
				t.Errorf("%d requests for one Send", requests)
			}
		})
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary key", &Options{BaseURL: "http://api.example", Language: "en-US", Timeout: -1, MaxConns: -1})
	for _, want := range []string{"apiKey", "BaseURL", "Language", "Timeout", "MaxConns"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v says nothing about %s", err, want)
		}
	}
	if strings.Contains(fmt.Sprint(err), "canary") {
		t.Error("the error holds the key:", err)
	}
	c, err := New("canary", nil)
	if err != nil || c.Key() != "whatsapp:dialog360" {
		t.Fatal(c, err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}

func TestAnswersBlameTheChannelTheAddressOrTheMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script script
		want   channel.Fault
	}{
		"own: not paid":   {says(400, `{"error":"Could not send message due to lack of payment"}`), channel.FaultAccount},
		"own: wrong key":  {says(401, `{"error":"Invalid api_key"}`), channel.FaultAccount},
		"service down":    {says(500, fault(131016)), channel.FaultProvider},
		"number rate":     {says(400, fault(130429)), channel.FaultAccount},
		"pair rate":       {says(400, fault(131056)), channel.FaultAddress},
		"undeliverable":   {says(400, fault(131026)), channel.FaultAddress},
		"country":         {says(403, fault(130497)), channel.FaultAddress},
		"template paused": {says(400, fault(132015)), channel.FaultMessage},
		"bad parameter":   {says(400, fault(100)), ""},
		"went wrong":      {says(500, fault(131000)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, open(t, serve(t, c.script), Options{}), message()); err.Fault != c.want {
				t.Errorf("%v blames %q, want %q", err, err.Fault, c.want)
			}
		})
	}
}

func TestAnswersSuppressWhoWantsNoMore(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]channel.SuppressionReason{131050: channel.Unsubscribe, 131026: "", 131056: "", 130497: ""} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, open(t, serve(t, says(400, fault(code))), Options{}), message()); err.Suppress != want {
				t.Errorf("%v suppresses for %q, want %q", err, err.Suppress, want)
			}
		})
	}
}
