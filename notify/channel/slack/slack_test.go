package slack

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "xoxb-canary-token"
	room  = "C0123456789"
)

func message() channel.Message {
	return channel.Message{ID: "5f1d", To: room, Name: "Sam", Subject: "Your certificate", Text: "It expires soon."}
}

// says answers with that body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusTooManyRequests || strings.Contains(body, "ratelimited") {
			w.Header().Set("Retry-After", "7")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func fails(code string) http.HandlerFunc {
	return says(200, `{"ok":false,"error":"`+code+`","about":"`+room+`"}`)
}

var accepts = says(200, `{"ok":true,"channel":"`+room+`","ts":"1712345678.123456","message":{"text":"It expires soon."}}`)

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
		Read: func(r *http.Request, body []byte) (string, bool) {
			var p post
			err := json.Unmarshal(body, &p)
			return html.UnescapeString(p.Text), err == nil && r.URL.Path == "/chat.postMessage" && r.Header.Get("Authorization") == "Bearer "+token
		},
		Accept:        accepts,
		RefuseMessage: fails("msg_too_long"),
		RefuseAddress: fails("channel_not_found"),
		RefuseAccount: fails("invalid_auth"),
		Throttle:      says(429, `{"ok":false,"error":"ratelimited"}`),
	})
}

// open makes a channel to a server that answers so, and keeps what it is posted.
func open(t *testing.T, o Options, answer http.HandlerFunc) (*Channel, func() []post) {
	t.Helper()
	url, posts := sendtest.Serve[post](t, answer)
	o.BaseURL = url
	c, err := New(token, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, posts
}

func opened(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
	c, posts := open(t, Options{}, answer)
	return c, func() int { return len(posts()) }
}

// What somebody wrote is not markup, unless the host says that it has seen to it.
func TestTextAlarmsNobody(t *testing.T) {
	t.Parallel()
	m := message()
	m.To += ":1712345678.123456"
	m.Text = "<!channel> R&D: *1 > 0*"
	for _, markup := range []bool{false, true} {
		c, posts := open(t, Options{Markup: markup}, accepts)
		receipt, err := c.Send(t.Context(), m)
		if err != nil || receipt.ID != m.To {
			t.Fatal(receipt, err)
		}
		want := post{Channel: room, ThreadTS: "1712345678.123456", Text: "&lt;!channel&gt; R&amp;D: *1 &gt; 0*"}
		if markup {
			want.Text, want.Markdown = m.Text, true
		}
		if diff := cmp.Diff([]post{want}, posts()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCodesHaveTheirClass(t *testing.T) {
	t.Parallel()
	sendtest.Answers(t, opened, message(), map[string]sendtest.Case{
		"internal_error":         sendtest.To(channel.ClassUnknown, "200 internal_error", "", fails("internal_error")),
		"fatal_error":            sendtest.To(channel.ClassUnknown, "200 fatal_error", "", fails("fatal_error")),
		"no code":                sendtest.To(channel.ClassUnknown, "200", "", fails("")),
		"service_unavailable":    sendtest.To(channel.ClassTransient, "200 service_unavailable", channel.FaultProvider, fails("service_unavailable")),
		"request_timeout":        sendtest.To(channel.ClassTransient, "200 request_timeout", "", fails("request_timeout")),
		"ratelimited":            sendtest.To(channel.ClassTransient, "200 ratelimited", channel.FaultAccount, fails("ratelimited")).After(channeltest.Wait),
		"message_limit_exceeded": sendtest.To(channel.ClassTransient, "200 message_limit_exceeded", channel.FaultAccount, fails("message_limit_exceeded")),
		"token_revoked":          sendtest.To(channel.ClassTransient, "200 token_revoked", channel.FaultAccount, fails("token_revoked")),
		"is_archived":            sendtest.To(channel.ClassPermanent, "200 is_archived", channel.FaultAddress, fails("is_archived")),
		"msg_too_long":           sendtest.To(channel.ClassPermanent, "200 msg_too_long", channel.FaultMessage, fails("msg_too_long")),
		"a_new_one":              sendtest.To(channel.ClassPermanent, "200 a_new_one", "", fails("a_new_one")),
	})
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	sendtest.Unsent(t, opened, message, map[string]func(*channel.Message){
		"address":     func(m *channel.Message) { m.To = "#canary" },
		"template":    func(m *channel.Message) { m.Template.Name = "canary" },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"mail":        func(m *channel.Message) { m.Mail.CC = []string{"canary@school.example"} },
		"empty":       func(m *channel.Message) { m.Text = "" },
		"text":        func(m *channel.Message) { m.Text = strings.Repeat("<", 10001) },
	})
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary token", &Options{BaseURL: "http://api.example", Timeout: -1, MaxConns: -1})
	sendtest.Faults(t, err, "token", "BaseURL", "Timeout", "MaxConns")
	for key, want := range map[string]string{"": "chat:slack", "chat:partners": "chat:partners"} {
		if c, err := New(token, &Options{Key: key}); err != nil || c.Key() != want || c.MaxCalls() != 10 {
			t.Error(c, err)
		}
	}
}
