package sendgrid

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "email:sendgrid".
	Key string
	// From is the sender, with or without a display name, such as
	// "School <office@example.com>": a verified sender or domain of the account.
	From string
	// ReplyTo is where answers go, in the same form; empty means to From.
	ReplyTo string
	// BaseURL is the API's address; empty means "https://api.sendgrid.com". For
	// subusers in the EU it is "https://api.eu.sendgrid.com".
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
	o.Key = cmp.Or(o.Key, "email:sendgrid")
	o.BaseURL = cmp.Or(o.BaseURL, "https://api.sendgrid.com")
	return o
}

func (o Options) client(apiKey string) rest.Options {
	return rest.Options{Provider: "sendgrid", Authorize: rest.Header("Authorization", "Bearer "+apiKey),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Bounded = (*Channel)(nil)
)

// Channel sends mails through SendGrid. It is safe for several goroutines. Close
// it when nothing sends any more.
type Channel struct {
	key, url      string
	from, replyTo *party
	client        *rest.Client
}

// New returns a channel that calls with the API key, which needs the scope
// "mail.send" only. It does not connect yet. An error lists every setting that
// cannot be used, and never holds the key.
func New(apiKey string, opts *Options) (*Channel, error) {
	o := *cmp.Or(opts, new(Options))
	o = o.withDefaults()
	var f rest.Faults
	f.Secret("apiKey", apiKey)
	c := &Channel{key: o.Key, from: partyOf(f.Mailbox("From", o.From)), url: f.BaseURL("BaseURL", o.BaseURL) + "/v3/mail/send"}
	if o.ReplyTo != "" {
		c.replyTo = partyOf(f.Mailbox("ReplyTo", o.ReplyTo))
	}
	ro := o.client(apiKey)
	ro.Check(&f)
	if err := f.Err("sendgrid"); err != nil {
		return nil, err
	}
	c.client = rest.NewClient(ro)
	return c, nil
}

// Key returns "email:sendgrid", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// ReportedBy is the name of the [Webhook]'s provider, for any key.
func (c *Channel) ReportedBy() string { return provider }

// Capabilities are all that mails have, and callbacks.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true, Callbacks: true}
}

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send hands m to SendGrid and returns its X-Message-Id as the receipt. The
// package documentation says what the classes of its errors mean; a content that
// makes no mail is Permanent. One that names a template is refused
// too: its text is not in the parts, and dynamic templates are not used.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json", Body: body})
	if err != nil {
		return channel.Receipt{}, err
	}
	if answer.Status != http.StatusAccepted {
		return channel.Receipt{}, refusal(answer)
	}
	return channel.Receipt{ID: rest.ProviderID(answer.Header.Get("X-Message-Id"))}, nil
}

// refusal takes the field at fault for a code; messages may quote addresses.
func refusal(a *rest.Answer) error {
	var body struct {
		Errors []struct {
			Field rest.Text `json:"field"`
		} `json:"errors"`
	}
	code := ""
	if a.JSON(&body) == nil && len(body.Errors) > 0 {
		code = string(body.Errors[0].Field)
	}
	e := a.Refusal(code)
	switch {
	case code == "personalizations.0.to.0.email" && e.Permanent(): // "does not contain a valid address"
		e = e.Suppressing(channel.HardBounce)
	case strings.HasPrefix(code, "personalizations.0.cc"), strings.HasPrefix(code, "personalizations.0.bcc"):
		e = e.Blame(channel.FaultMessage)
	case strings.HasPrefix(code, "personalizations.0.to"):
		e = e.Blame(channel.FaultAddress)
	}
	if e.RetryAfter == 0 && a.Status == http.StatusTooManyRequests {
		e.RetryAfter = untilReset(a.Header)
	}
	return e
}

// untilReset reads X-RateLimit-Reset, in seconds since 1970 by SendGrid's clock.
func untilReset(h http.Header) time.Duration {
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err != nil || err2 != nil || reset < 0 || reset > now.Add(24*time.Hour).Unix() {
		return 0
	}
	return max(0, time.Unix(reset, 0).Sub(now))
}

// check refuses what no mail can be made of, and one without a subject.
func check(m channel.Message) error {
	if err := rest.CheckMail("sendgrid", m); err != nil {
		return err
	}
	if m.Subject == "" {
		return rest.Unsendable("sendgrid", "subject", "message without subject, which SendGrid refuses")
	}
	return nil
}

// idArg is the custom argument in which the message id travels.
const idArg = "belfry_message"

// These are the body of a Mail Send request, as far as it is used.
type (
	mailRequest struct {
		Personalizations []personalization `json:"personalizations"`
		From             *party            `json:"from"`
		ReplyTo          *party            `json:"reply_to,omitempty"`
		Subject          string            `json:"subject"`
		Content          []part            `json:"content"`
		Attachments      []attachment      `json:"attachments,omitempty"`
		Headers          map[string]string `json:"headers"`
	}
	personalization struct {
		To         []party           `json:"to"`
		CC         []party           `json:"cc,omitempty"`
		BCC        []party           `json:"bcc,omitempty"`
		CustomArgs map[string]string `json:"custom_args"`
	}
	party struct {
		Email string `json:"email"`
		Name  string `json:"name,omitempty"`
	}
	part struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	attachment struct {
		Content     []byte `json:"content"` // base64
		Type        string `json:"type"`
		Filename    string `json:"filename"`
		Disposition string `json:"disposition"`
		ContentID   string `json:"content_id,omitempty"`
	}
)

// build makes the request of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) ([]byte, error) {
	if err := check(m); err != nil {
		return nil, err
	}
	r := mailRequest{
		Personalizations: []personalization{{To: []party{{m.To, m.Name}}, CC: parties(m.Mail.CC), BCC: parties(m.Mail.BCC), CustomArgs: map[string]string{idArg: m.ID}}},
		From:             c.from, ReplyTo: c.replyTo, Subject: m.Subject,
		Content: content(m), Attachments: attachments(m.Attachments), Headers: rest.MailHeaders(m),
	}
	if to := parties([]string{m.Mail.ReplyTo}); len(to) > 0 {
		r.ReplyTo = &to[0]
	}
	body, err := json.Marshal(r)
	if err != nil { // texts and bytes only
		return nil, channel.Permanent("mail", err)
	}
	return body, nil
}

func partyOf(a mail.Address) *party { return &party{a.Address, a.Name} }

// parties are mailboxes that were checked.
func parties(all []string) (out []party) {
	for _, a := range rest.Mailboxes(all) {
		out = append(out, *partyOf(a))
	}
	return out
}

// content is text before HTML, as SendGrid demands. An empty part is refused by
// it, and so is a mail without one: then the subject is all there is to say.
func content(m channel.Message) []part {
	var all []part
	if text := rest.MailText(m); text != "" {
		all = append(all, part{"text/plain", text})
	}
	if m.HTML != "" {
		all = append(all, part{"text/html", m.HTML})
	}
	return all
}

func attachments(in []channel.Attachment) []attachment {
	var out []attachment
	for _, a := range in {
		disposition := "attachment"
		if a.ContentID != "" {
			disposition = "inline"
		}
		out = append(out, attachment{a.Data, a.MediaType, a.Name, disposition, a.ContentID})
	}
	return out
}
