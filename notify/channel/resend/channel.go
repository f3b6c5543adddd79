package resend

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/mail"
	"net/url"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "email:resend".
	Key string
	// From is the sender, with or without a display name, such as
	// "School <office@example.com>": of a domain that the account has verified.
	From string
	// ReplyTo is where answers go, in the same form; empty means to From.
	ReplyTo string
	// BaseURL is the API's address; empty means "https://api.resend.com".
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

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "email:resend")
	o.BaseURL = cmp.Or(o.BaseURL, "https://api.resend.com")
	return o
}

func (o Options) client(apiKey string) rest.Options {
	return rest.Options{Provider: provider, Authorize: rest.Header("Authorization", "Bearer "+apiKey),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}

var (
	_ channel.Channel        = (*Channel)(nil)
	_ channel.IdempotentSend = (*Channel)(nil)
	_ channel.Bounded        = (*Channel)(nil)
)

// Channel sends mails through Resend. It is safe for several goroutines. Close it when
// nothing sends any more.
type Channel struct {
	key, url      string
	from, replyTo mail.Address
	client        *rest.Client
}

// New returns a channel that calls with the API key, for which "sending access" is
// enough. It does not connect yet. An error lists every setting that cannot be used, and
// never holds the key.
func New(apiKey string, opts *Options) (*Channel, error) {
	o := *cmp.Or(opts, new(Options))
	o = o.withDefaults()
	var f rest.Faults
	f.Secret("apiKey", apiKey)
	c := &Channel{key: o.Key, from: f.Mailbox("From", o.From), url: f.BaseURL("BaseURL", o.BaseURL) + "/emails"}
	if o.ReplyTo != "" {
		c.replyTo = f.Mailbox("ReplyTo", o.ReplyTo)
	}
	ro := o.client(apiKey)
	ro.Check(&f)
	if err := f.Err(provider); err != nil {
		return nil, err
	}
	c.client = rest.NewClient(ro)
	return c, nil
}

// Key returns "email:resend", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// ReportedBy is the name of the [Webhook]'s provider, for any key.
func (c *Channel) ReportedBy() string { return provider }

// Capabilities are all that mails have, and callbacks.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true, Callbacks: true}
}

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// IdempotencyWindow is 23 hours: Resend keeps a key for 24, and a repeat may wait for
// its turn.
func (c *Channel) IdempotencyWindow() time.Duration { return 23 * time.Hour }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send hands m to Resend under its id, and returns Resend's id as the receipt: of a
// repeat that of the first request. The package documentation says what the classes of
// its errors mean; a content that makes no mail is Permanent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json", Body: body,
		Header: http.Header{"Idempotency-Key": {m.ID}}})
	if err != nil {
		return channel.Receipt{}, err
	}
	if answer.Status != http.StatusOK {
		return channel.Receipt{}, refusal(answer)
	}
	var sent struct {
		ID rest.Text `json:"id"`
	}
	if err := answer.JSON(&sent); err != nil || rest.ProviderID(string(sent.ID)) == "" {
		return channel.Receipt{}, answer.Unknown("no-id") // a repeat brings it
	}
	return channel.Receipt{ID: string(sent.ID)}, nil
}

// refusal takes the error's name for a code; its message may quote addresses.
func refusal(a *rest.Answer) error {
	var body struct {
		Name rest.Text `json:"name"`
	}
	_ = a.JSON(&body) // without a name the status decides
	code := string(body.Name)
	switch {
	case a.Status == http.StatusConflict, a.Status >= 500 && a.Status != http.StatusServiceUnavailable:
		return a.Unknown(code)
	case a.Status == http.StatusTooManyRequests:
		e := a.Closed(code)
		e.RetryAfter = cmp.Or(e.RetryAfter, untilReset(a.Header))
		return e
	case a.Status == http.StatusNotFound, a.Status == http.StatusMethodNotAllowed, code == "invalid_from_address":
		return a.Closed(code)
	case messageFaults[code]:
		return a.Permanent(code).Blame(channel.FaultMessage)
	}
	return a.Refusal(code)
}

// messageFaults are errors about the parts of a mail. "validation_error" may be about the
// recipient as well, so it blames neither.
var messageFaults = map[string]bool{
	"invalid_attachment": true, "missing_required_field": true, "invalid_idempotency_key": true,
}

// untilReset reads RateLimit-Reset, in seconds from now.
func untilReset(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Ratelimit-Reset"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// tagName is the tag in which the message id travels.
const tagName = "belfry_message"

// These are the body of a request to send an email, as far as it is used. A repeat must
// have the same bytes.
type (
	email struct {
		From        string            `json:"from"`
		To          []string          `json:"to"`
		CC          []string          `json:"cc,omitempty"`
		BCC         []string          `json:"bcc,omitempty"`
		ReplyTo     string            `json:"reply_to,omitempty"`
		Subject     string            `json:"subject"`
		Text        string            `json:"text,omitempty"`
		HTML        string            `json:"html,omitempty"`
		Headers     map[string]string `json:"headers"`
		Attachments []attachment      `json:"attachments,omitempty"`
		Tags        []tag             `json:"tags"`
	}
	attachment struct {
		Filename    string `json:"filename"`
		Content     []byte `json:"content"` // base64
		ContentType string `json:"content_type"`
		ContentID   string `json:"content_id,omitempty"`
	}
	tag struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// build makes the request of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) ([]byte, error) {
	if err := rest.CheckMail(provider, m); err != nil {
		return nil, err
	}
	if m.Subject == "" {
		return nil, rest.Unsendable(provider, "subject", "message without subject, which Resend refuses")
	}
	e := email{
		From: rest.Spelled(c.from), To: []string{rest.Spelled(mail.Address{Name: m.Name, Address: m.To})},
		CC: spelled(m.Mail.CC), BCC: spelled(m.Mail.BCC), ReplyTo: rest.Spelled(c.replyTo),
		Subject: m.Subject, Text: rest.MailText(m), HTML: m.HTML,
		Headers: rest.MailHeaders(m), Tags: []tag{{tagName, m.ID}},
	}
	for _, to := range spelled([]string{m.Mail.ReplyTo}) {
		e.ReplyTo = to
	}
	for _, a := range m.Attachments {
		e.Attachments = append(e.Attachments, attachment{a.Name, a.Data, a.MediaType, a.ContentID})
	}
	body, err := json.Marshal(e)
	if err != nil { // texts and bytes only
		return nil, channel.Permanent("mail", err)
	}
	return body, nil
}

// spelled are mailboxes that were checked.
func spelled(all []string) (out []string) {
	for _, a := range rest.Mailboxes(all) {
		out = append(out, rest.Spelled(a))
	}
	return out
}
