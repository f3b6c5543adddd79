package telegram

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel; nil means all defaults.
type Options struct {
	// Key is the key of the channel; empty means "chat:telegram".
	Key string
	// BaseURL is the API's address; empty means "https://api.telegram.org".
	BaseURL string
	// Timeout bounds one Send, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the Sends at work; others wait for
	// their turn within their Timeout. Zero means 10.
	MaxConns int
	// Proxy is an HTTP proxy; nil means none: that of the environment is not used.
	Proxy *url.URL
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Bounded = (*Channel)(nil)
)

// Channel sends messages through a Telegram bot. It is safe for several goroutines.
// Close it when nothing sends any more.
type Channel struct {
	key    string
	url    func() string // it holds the token, which no printed channel shows
	client *rest.Client
}

var tokens = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{20,100}$`)

// New returns a channel that sends as the bot of the token. It does not connect yet. An
// error lists every setting that cannot be used, and never holds the token.
func New(token string, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options))
	var f rest.Faults
	f.Add(!tokens.MatchString(token), "token is not that of a bot, such as 123456:AbC…")
	base := f.BaseURL("BaseURL", cmp.Or(o.BaseURL, "https://api.telegram.org"))
	ro := rest.Options{Provider: "telegram", Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
	ro.Check(&f)
	if err := f.Err("telegram"); err != nil {
		return nil, err
	}
	return &Channel{key: cmp.Or(o.Key, "chat:telegram"), client: rest.NewClient(ro),
		url: func() string { return base + "/bot" + token + "/sendMessage" }}, nil
}

// Key returns "chat:telegram", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send sends m's Text and returns the number of the message in its chat as the
// receipt. The package documentation says what the classes of its errors mean. Subject
// and HTML are not sent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	r, err := build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	body, err := json.Marshal(r)
	if err != nil { // texts only
		return channel.Receipt{}, channel.Permanent("json", err)
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url(), ContentType: "application/json", Body: body})
	if err != nil {
		return channel.Receipt{}, err
	}
	return outcome(answer)
}

// said is an answer, as far as it is read.
type said struct {
	OK          bool   `json:"ok"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"` // seconds
	} `json:"parameters"`
	Result struct {
		MessageID rest.Text `json:"message_id"`
	} `json:"result"`
}

func outcome(a *rest.Answer) (channel.Receipt, error) {
	var s said
	err := a.JSON(&s)
	switch {
	case a.Status != http.StatusOK:
		return channel.Receipt{}, refusal(a, s)
	case err != nil || !s.OK || s.Result.MessageID == "":
		return channel.Receipt{}, a.Unknown("no-ok")
	}
	return channel.Receipt{ID: rest.ProviderID(string(s.Result.MessageID))}, nil
}

// gone are the ends of descriptions of a chat that gets nothing any more.
var gone = []struct {
	says, code string
	reason     channel.SuppressionReason
}{
	{"bot was blocked by the user", "blocked", channel.Unsubscribe},
	{"bot was kicked", "kicked", channel.Unsubscribe},
	{"user is deactivated", "deactivated", channel.HardBounce},
}

// chats are the ends of descriptions with 400 that are about the chat.
var chats = []string{"chat not found", "user not found", "PEER_ID_INVALID", "group chat was deactivated", "group chat was upgraded",
	"chat_id is empty", "have no rights to send a message", "not enough rights to send", "CHAT_WRITE_FORBIDDEN", "message thread not found", "TOPIC_CLOSED"}

// refusal judges by the status, and by what is known of the descriptions, which may quote
// anything and are not kept. Which limit a 429 is about, the chat's or the bot's, is not
// said, so neither is blamed.
func refusal(a *rest.Answer, s said) *channel.Error {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusNotFound: // a path with a token that is none
		return a.Closed("")
	case http.StatusTooManyRequests:
		e := a.Transient("")
		if wait := s.Parameters.RetryAfter; wait > 0 {
			e.RetryAfter = time.Duration(min(wait, 24*60*60)) * time.Second
		}
		return e
	case http.StatusForbidden:
		for _, g := range gone {
			if strings.Contains(s.Description, g.says) {
				return a.Permanent(g.code).Suppressing(g.reason)
			}
		}
		return a.Permanent("").Blame(channel.FaultAddress)
	case http.StatusBadRequest:
		for _, about := range chats {
			if strings.Contains(s.Description, about) {
				return a.Permanent("chat").Blame(channel.FaultAddress)
			}
		}
	}
	return a.Refusal("")
}

// request is the body of a request, as far as it is used.
type request struct {
	ChatID   string `json:"chat_id"`
	ThreadID int64  `json:"message_thread_id,omitempty"`
	Text     string `json:"text"`
}

var address = regexp.MustCompile(`^(-?[0-9]{1,18}|@[A-Za-z][A-Za-z0-9_]{3,31})(?::([0-9]{1,18}))?$`)

// maxText is how many characters Telegram takes ("sendMessage").
const maxText = 4096

// build makes the request of m, or says with a Permanent error why it cannot.
func build(m channel.Message) (*request, error) {
	to := address.FindStringSubmatch(m.To)
	switch {
	case to == nil:
		return nil, permanent("address", "recipient is not an id of a chat").Blame(channel.FaultAddress)
	case m.Template.Name != "":
		return nil, permanent("template", "message names a template, and Telegram has none")
	case len(m.Attachments) > 0:
		return nil, permanent("attachments", "a message with attachments cannot be sent")
	case !m.Mail.IsZero():
		return nil, permanent("mail", "a message with Content.Mail is for e-mail only")
	case strings.TrimSpace(m.Text) == "":
		return nil, permanent("empty", "message without text")
	case utf8.RuneCountInString(m.Text) > maxText:
		return nil, permanent("text", "text is longer than 4096 characters")
	}
	r := &request{ChatID: to[1], Text: m.Text}
	if to[2] != "" {
		r.ThreadID, _ = strconv.ParseInt(to[2], 10, 64) // at most 18 digits
	}
	return r, nil
}

func permanent(code, why string) *channel.Error { return rest.Unsendable("telegram", code, why) }
