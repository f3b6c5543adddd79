package telegram

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
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
	url, sent := sendtest.Serve[request](t, answer)
	c, err := New(token, &Options{BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, sent
}

func opened(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
	c, sent := open(t, answer)
	return c, func() int { return len(sent()) }
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
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	sendtest.Answers(t, opened, message(), map[string]sendtest.Case{
		"blocked":     sendtest.To(permanent, "403 blocked", channel.FaultAddress, says(403, "Forbidden: bot was blocked by the user")).Suppresses(channel.Unsubscribe),
		"kicked":      sendtest.To(permanent, "403 kicked", channel.FaultAddress, says(403, "Forbidden: bot was kicked from the supergroup chat")).Suppresses(channel.Unsubscribe),
		"deactivated": sendtest.To(permanent, "403 deactivated", channel.FaultAddress, says(403, "Forbidden: user is deactivated")).Suppresses(channel.HardBounce),
		"stranger":    sendtest.To(permanent, "403", channel.FaultAddress, says(403, "Forbidden: bot can't initiate conversation with a user")),
		"upgraded":    sendtest.To(permanent, "400 chat", channel.FaultAddress, says(400, "Bad Request: group chat was upgraded to a supergroup chat")),
		"too long":    sendtest.To(permanent, "400", "", says(400, "Bad Request: message is too long")),
		"no bot":      sendtest.To(transient, "404", channel.FaultAccount, says(404, "Not Found")),
		"wrong token": sendtest.To(transient, "401", channel.FaultAccount, says(401, "Unauthorized")),
		"too many":    sendtest.To(transient, "429", "", says(429, "Too Many Requests: retry after 7")).After(7 * time.Second),
		"fails":       sendtest.To(unknown, "500", "", says(500, "Internal Server Error")),
		"gateway":     sendtest.To(unknown, "502", "", says(502, "Bad Gateway")),
		"not ok":      sendtest.To(unknown, "200 no-ok", "", says(200, "")),
	})
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	sendtest.Unsent(t, opened, message, map[string]func(*channel.Message){
		"address":     func(m *channel.Message) { m.To = "canary" },
		"address 2":   func(m *channel.Message) { m.To = "1:2:3" },
		"template":    func(m *channel.Message) { m.Template.Name = "canary" },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"mail":        func(m *channel.Message) { m.Mail.CC = []string{"canary@school.example"} },
		"empty":       func(m *channel.Message) { m.Text = " \n" },
		"text":        func(m *channel.Message) { m.Text = strings.Repeat("ü", 4097) },
	})
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary/../token", &Options{BaseURL: "http://api.example", Timeout: -1, MaxConns: -1})
	sendtest.Faults(t, err, "token", "BaseURL", "Timeout", "MaxConns")
	for key, want := range map[string]string{"": "chat:telegram", "chat:parents": "chat:parents"} {
		if c, err := New(token, &Options{Key: key}); err != nil || c.Key() != want || c.MaxCalls() != 10 {
			t.Error(c, err)
		}
	}
}
