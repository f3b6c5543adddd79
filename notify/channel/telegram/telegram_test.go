package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "123456:canary-token-of-a-bot-0123456789"
	chat  = "-1009988776655"
)

func message() channel.Message {
	return channel.Message{ID: "5f1d", To: chat, Name: "Sam", Subject: "Your certificate", Text: "It expires soon."}
}

// says answers with the documented body of an error.
func says(status int, description string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		body := map[string]any{"ok": false, "error_code": status, "description": description + " " + chat}
		if status == http.StatusTooManyRequests {
			body["parameters"] = map[string]int{"retry_after": 7}
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

func accepts(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"ok":true,"result":{"message_id":17,"chat":{"id":` + chat + `},"text":"It expires soon."}}`))
}

func TestContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(token, &Options{BaseURL: at.URL, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return message() },
		Secrets: []string{token},
		Read: func(req *http.Request, body []byte) (string, bool) {
			var r request
			err := json.Unmarshal(body, &r)
			return r.Text, err == nil && req.URL.Path == "/bot"+token+"/sendMessage"
		},
		Accept:        accepts,
		RefuseMessage: says(400, "Bad Request: message is too long"),
		RefuseAddress: says(400, "Bad Request: chat not found"),
		RefuseAccount: says(401, "Unauthorized"),
		Throttle:      says(429, "Too Many Requests: retry after 7"),
	})
}

// open makes a channel to a server that answers so, and keeps what it is sent.
func open(t *testing.T, answer http.HandlerFunc) (*Channel, func() []request) {
	t.Helper()
	var mu sync.Mutex
	var all []request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var r request
		if err := json.NewDecoder(req.Body).Decode(&r); err != nil {
			t.Error(err)
		}
		mu.Lock()
		all = append(all, r)
		mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(s.Close)
	c, err := New(token, &Options{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, func() []request {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	c, sent := open(t, accepts)
	for _, to := range []string{chat, chat + ":42", "@school_news"} {
		m := message()
		m.To, m.Text = to, "<b>1 & 2</b> *"
		if receipt, err := c.Send(t.Context(), m); err != nil || receipt.ID != "17" {
			t.Error(receipt, err)
		}
	}
	want := []request{{ChatID: chat, Text: "<b>1 & 2</b> *"}, {ChatID: chat, ThreadID: 42, Text: "<b>1 & 2</b> *"}, {ChatID: "@school_news", Text: "<b>1 & 2</b> *"}}
	if diff := cmp.Diff(want, sent()); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	type outcome struct {
		Class    channel.Class
		Fault    channel.Fault
		Code     string
		Suppress channel.SuppressionReason
	}
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   outcome
	}{
		"blocked":     {says(403, "Forbidden: bot was blocked by the user"), outcome{permanent, channel.FaultAddress, "403 blocked", channel.Unsubscribe}},
		"kicked":      {says(403, "Forbidden: bot was kicked from the supergroup chat"), outcome{permanent, channel.FaultAddress, "403 kicked", channel.Unsubscribe}},
		"deactivated": {says(403, "Forbidden: user is deactivated"), outcome{permanent, channel.FaultAddress, "403 deactivated", channel.HardBounce}},
		"stranger":    {says(403, "Forbidden: bot can't initiate conversation with a user"), outcome{permanent, channel.FaultAddress, "403", ""}},
		"upgraded":    {says(400, "Bad Request: group chat was upgraded to a supergroup chat"), outcome{permanent, channel.FaultAddress, "400 chat", ""}},
		"too long":    {says(400, "Bad Request: message is too long"), outcome{permanent, "", "400", ""}},
		"no bot":      {says(404, "Not Found"), outcome{transient, channel.FaultChannel, "404", ""}},
		"wrong token": {says(401, "Unauthorized"), outcome{transient, channel.FaultChannel, "401", ""}},
		"too many":    {says(429, "Too Many Requests: retry after 7"), outcome{transient, "", "429", ""}},
		"fails":       {says(500, "Internal Server Error"), outcome{unknown, "", "500", ""}},
		"gateway":     {says(502, "Bad Gateway"), outcome{unknown, "", "502", ""}},
		"not ok":      {says(200, ""), outcome{unknown, "", "200 no-ok", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch, sent := open(t, c.answer)
			_, err := ch.Send(t.Context(), message())
			e := channel.Classify(err)
			if e == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(c.want, outcome{e.Class, e.Fault, e.Code, e.Suppress}); diff != "" || len(sent()) != 1 {
				t.Error(err, diff)
			}
		})
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	c, sent := open(t, accepts)
	for name, change := range map[string]func(*channel.Message){
		"address":     func(m *channel.Message) { m.To = "canary" },
		"address 2":   func(m *channel.Message) { m.To = "1:2:3" },
		"template":    func(m *channel.Message) { m.Template.Name = "canary" },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"mail":        func(m *channel.Message) { m.Mail.CC = []string{"canary@school.example"} },
		"empty":       func(m *channel.Message) { m.Text = " \n" },
		"text":        func(m *channel.Message) { m.Text = strings.Repeat("ü", 4097) },
	} {
		m := message()
		change(&m)
		_, err := c.Send(t.Context(), m)
		code, _, _ := strings.Cut(name, " ")
		if e := channel.Classify(err); e == nil || e.Class != channel.ClassPermanent || e.Code != code || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(sent()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary/../token", &Options{BaseURL: "http://api.example", Timeout: -1, MaxConns: -1})
	for _, want := range []string{"token", "BaseURL", "Timeout", "MaxConns"} {
		if !strings.Contains(fmt.Sprint(err), want) || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%v says nothing about %s, or too much", err, want)
		}
	}
	for key, want := range map[string]string{"": "chat:telegram", "chat:parents": "chat:parents"} {
		if c, err := New(token, &Options{Key: key}); err != nil || c.Key() != want || c.MaxCalls() != 10 {
			t.Error(c, err)
		}
	}
}
