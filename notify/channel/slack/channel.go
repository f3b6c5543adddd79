package slack

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel; nil means all defaults.
type Options struct {
	// Key is the key of the channel; empty means "chat:slack".
	Key string
	// Markup says that texts are written in Slack's own markup: templates then escape
	// what others wrote, by '&', '<' and '>'.
	Markup bool
	// BaseURL is the API's address; empty means "https://slack.com/api".
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

// Channel posts messages to a Slack workspace. It is safe for several goroutines.
// Close it when nothing sends any more.
type Channel struct {
	key, url string
	markup   bool
	client   *rest.Client
}

// New returns a channel that posts as the bot of the token, which needs the scope
// "chat:write". It does not connect yet. An error lists every setting that cannot be
// used, and never holds the token.
func New(token string, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options))
	var f rest.Faults
	f.Secret("token", token)
	base := f.BaseURL("BaseURL", cmp.Or(o.BaseURL, "https://slack.com/api"))
	ro := rest.Options{Provider: "slack", Authorize: rest.Header("Authorization", "Bearer "+token),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
	ro.Check(&f)
	if err := f.Err("slack"); err != nil {
		return nil, err
	}
	return &Channel{key: cmp.Or(o.Key, "chat:slack"), url: base + "/chat.postMessage", markup: o.Markup, client: rest.NewClient(ro)}, nil
}

// Key returns "chat:slack", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send posts m's Text and returns the address of its thread as the receipt. The
// package documentation says what the classes of its errors mean. Subject and HTML are
// not sent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	p, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	body, err := json.Marshal(p)
	if err != nil { // texts only
		return channel.Receipt{}, channel.Permanent("json", err)
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json; charset=utf-8", Body: body})
	if err != nil {
		return channel.Receipt{}, err
	}
	return outcome(answer)
}

// outcome reads an answer, which says by itself whether it accepts.
func outcome(a *rest.Answer) (channel.Receipt, error) {
	var said struct {
		OK      *bool     `json:"ok"`
		Error   rest.Text `json:"error"`
		Channel rest.Text `json:"channel"`
		TS      rest.Text `json:"ts"`
	}
	switch err := a.JSON(&said); {
	case a.Status != http.StatusOK:
		return channel.Receipt{}, a.Refusal(string(said.Error))
	case err != nil || said.OK == nil:
		return channel.Receipt{}, a.Unknown("no-ok")
	case !*said.OK:
		return channel.Receipt{}, refusal(a, string(said.Error))
	}
	return channel.Receipt{ID: rest.ProviderID(string(said.Channel + ":" + said.TS))}, nil
}

// closed are the codes of a token, or of a workspace that takes nothing now.
var closed = map[string]bool{
	"access_denied": true, "accesslimited": true, "account_inactive": true, "ekm_access_denied": true, "enterprise_is_restricted": true,
	"invalid_auth": true, "missing_scope": true, "no_permission": true, "not_allowed_token_type": true, "not_authed": true,
	"org_login_required": true, "team_access_not_granted": true, "token_expired": true, "token_revoked": true,
	"two_factor_setup_required": true, "message_limit_exceeded": true, "ratelimited": true, "rate_limited": true,
}

// of says what other codes blame; they are Permanent.
var of = map[string]channel.Fault{
	"channel_not_found": channel.FaultAddress, "is_archived": channel.FaultAddress, "not_in_channel": channel.FaultAddress,
	"user_not_found": channel.FaultAddress, "messages_tab_disabled": channel.FaultAddress, "channel_type_not_supported": channel.FaultAddress,
	"cannot_reply_to_message": channel.FaultAddress, "thread_not_found": channel.FaultAddress, "cannot_dm_bot": channel.FaultAddress,
	"restricted_action_read_only_channel": channel.FaultAddress, "restricted_action_thread_locked": channel.FaultAddress,
	"restricted_action_thread_only_channel": channel.FaultAddress,
	"msg_too_long":                          channel.FaultMessage, "no_text": channel.FaultMessage,
}

// refusal judges an answer that is not "ok", by Slack's code.
func refusal(a *rest.Answer, code string) *channel.Error {
	switch code {
	case "", "fatal_error", "internal_error":
		return a.Unknown(code)
	case "service_unavailable":
		return a.Away(code)
	case "request_timeout":
		return a.Transient(code)
	}
	if closed[code] {
		return a.Closed(code)
	}
	return a.Permanent(code).Blame(of[code])
}

// post is the body of a request, as far as it is used.
type post struct {
	Channel  string `json:"channel"`
	Text     string `json:"text"`
	ThreadTS string `json:"thread_ts,omitempty"`
	Markdown bool   `json:"mrkdwn"`
}

var address = regexp.MustCompile(`^([CDGUW][A-Z0-9]{2,30})(?::([0-9]{1,12}\.[0-9]{1,9}))?$`)

// escape is what Slack asks of texts that are not markup.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// maxText is how many characters Slack posts; it cuts off the rest.
const maxText = 40000

// build makes the request of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) (*post, error) {
	to := address.FindStringSubmatch(m.To)
	switch {
	case to == nil:
		return nil, permanent("address", "recipient is not an id of a conversation or a person").Blame(channel.FaultAddress)
	case m.Template.Name != "":
		return nil, permanent("template", "message names a template, and Slack has none")
	case len(m.Attachments) > 0:
		return nil, permanent("attachments", "a message with attachments cannot be sent")
	case !m.Mail.IsZero():
		return nil, permanent("mail", "a message with Content.Mail is for e-mail only")
	case m.Text == "":
		return nil, permanent("empty", "message without text")
	}
	p := &post{Channel: to[1], ThreadTS: to[2], Text: m.Text, Markdown: c.markup}
	if !c.markup {
		p.Text = escape.Replace(m.Text)
	}
	if utf8.RuneCountInString(p.Text) > maxText {
		return nil, permanent("text", "text is longer than 40000 characters")
	}
	return p, nil
}

func permanent(code, why string) *channel.Error { return rest.Unsendable("slack", code, why) }
