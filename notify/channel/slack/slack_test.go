package slack

import (
	"encoding/json"
	"fmt"
	"html"
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
	var mu sync.Mutex
	var posts []post
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p post
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			t.Error(err)
		}
		mu.Lock()
		posts = append(posts, p)
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	o.BaseURL = s.URL
	c, err := New(token, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, func() []post {
		mu.Lock()
		defer mu.Unlock()
		return posts
	}
}

// What somebody wrote is no markup, unless the host says that it has seen to it.
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
	for code, want := range map[string]struct {
		class channel.Class
		fault channel.Fault
	}{
		"internal_error":         {channel.ClassUnknown, ""},
		"fatal_error":            {channel.ClassUnknown, ""},
		"":                       {channel.ClassUnknown, ""},
		"service_unavailable":    {channel.ClassTransient, ""},
		"request_timeout":        {channel.ClassTransient, ""},
		"ratelimited":            {channel.ClassTransient, channel.FaultChannel},
		"message_limit_exceeded": {channel.ClassTransient, channel.FaultChannel},
		"token_revoked":          {channel.ClassTransient, channel.FaultChannel},
		"is_archived":            {channel.ClassPermanent, channel.FaultAddress},
		"msg_too_long":           {channel.ClassPermanent, channel.FaultMessage},
		"a_new_one":              {channel.ClassPermanent, ""},
	} {
		c, _ := open(t, Options{}, fails(code))
		_, err := c.Send(t.Context(), message())
		e := channel.Classify(err)
		if e == nil || e.Class != want.class || e.Fault != want.fault || code == "ratelimited" && e.RetryAfter != channeltest.Wait {
			t.Errorf("%q: %v", code, err)
		}
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	c, posts := open(t, Options{}, accepts)
	for code, change := range map[string]func(*channel.Message){
		"address":     func(m *channel.Message) { m.To = "#canary" },
		"template":    func(m *channel.Message) { m.Template.Name = "canary" },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"mail":        func(m *channel.Message) { m.Mail.CC = []string{"canary@school.example"} },
		"empty":       func(m *channel.Message) { m.Text = "" },
		"text":        func(m *channel.Message) { m.Text = strings.Repeat("<", 10001) },
	} {
		m := message()
		change(&m)
		_, err := c.Send(t.Context(), m)
		if e := channel.Classify(err); e == nil || e.Class != channel.ClassPermanent || e.Code != code || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", code, err)
		}
	}
	if n := len(posts()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary token", &Options{BaseURL: "http://api.example", Timeout: -1, MaxConns: -1})
	for _, want := range []string{"token", "BaseURL", "Timeout", "MaxConns"} {
		if !strings.Contains(fmt.Sprint(err), want) || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%v says nothing about %s, or too much", err, want)
		}
	}
	for key, want := range map[string]string{"": "chat:slack", "chat:partners": "chat:partners"} {
		if c, err := New(token, &Options{Key: key}); err != nil || c.Key() != want || c.MaxCalls() != 10 {
			t.Error(c, err)
		}
	}
}
