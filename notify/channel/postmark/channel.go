package postmark

import (
	"cmp"
	"context"
	"crypto/tls"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "email:postmark".
	Key string
	// From is the sender, with or without a display name, such as
	// "School <office@example.com>": a confirmed signature or domain of the account.
	From string
	// ReplyTo is where answers go, in the same form; empty means to From.
	ReplyTo string
	// Stream is the message stream; empty means "outbound", which is for transactional
	// mail. Campaigns go over a channel of their own with a broadcast stream.
	Stream string
	// Batch is how many mails one request may have, at most 500; zero means one. It is for
	// campaigns: a process that is killed in a request leaves all of it in doubt for a
	// quarter of an hour.
	Batch int
	// Retention is how long the server keeps messages, where it is not Postmark's usual: zero
	// means 45 days. A message in doubt is searched for as long, less a day; longer it would
	// be sent again though it had arrived.
	Retention time.Duration
	// BaseURL is the API's address; empty means "https://api.postmarkapp.com".
	BaseURL string
	// Timeout bounds one Send or Lookup, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the calls at work; others wait for
	// their turn within their Timeout. Zero means 10.
	MaxConns int
	// Proxy is an HTTP proxy; nil means none: that of the environment is not used.
	Proxy *url.URL
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "email:postmark")
	o.Stream = cmp.Or(o.Stream, "outbound")
	o.Retention = cmp.Or(o.Retention, 45*24*time.Hour)
	o.BaseURL = cmp.Or(o.BaseURL, "https://api.postmarkapp.com")
	return o
}

func (o Options) client(token string) rest.Options {
	return rest.Options{Provider: provider, Authorize: rest.Header("X-Postmark-Server-Token", token),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}

var (
	_ channel.Channel      = (*Channel)(nil)
	_ channel.StatusLookup = (*Channel)(nil)
	_ channel.Bounded      = (*Channel)(nil)
	_ channel.BatchSend    = (*Channel)(nil)
)

// Channel sends mails through Postmark. It is safe for several goroutines. Close it when
// nothing sends any more.
type Channel struct {
	key, url, stream string
	batch            int
	retention        time.Duration
	from, replyTo    mail.Address
	client           *rest.Client
}

// New returns a channel that calls with the API token of a server. It does not connect
// yet. An error lists every setting that cannot be used, and never holds the token.
func New(token string, opts *Options) (*Channel, error) {
	o := *cmp.Or(opts, new(Options))
	o = o.withDefaults()
	var f rest.Faults
	f.Secret("token", token)
	c := &Channel{key: o.Key, stream: o.Stream, batch: o.Batch, retention: o.Retention, from: f.Mailbox("From", o.From), url: f.BaseURL("BaseURL", o.BaseURL)}
	if o.ReplyTo != "" {
		c.replyTo = f.Mailbox("ReplyTo", o.ReplyTo)
	}
	f.Add(o.Retention < minRetention, "Retention is less than two days")
	f.Add(o.Batch < 0 || o.Batch > maxBatch, "Batch is not from 0 to 500")
	ro := o.client(token)
	ro.Check(&f)
	if err := f.Err(provider); err != nil {
		return nil, err
	}
	c.client = rest.NewClient(ro)
	return c, nil
}

// Key returns "email:postmark", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// ReportedBy is the name of the [Webhook]'s provider, for any key.
func (c *Channel) ReportedBy() string { return provider }

// Capabilities are all that mails have, and callbacks.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true, Callbacks: true}
}

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A call at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send hands m to Postmark and returns its MessageID as the receipt. The package
// documentation says what the classes of its errors mean; a content that makes no mail is
// Permanent. Postmark takes a mail of which some recipients are inactive, and does not
// say in a form to rely on which.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	content, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.post(ctx, "/email", content)
	if err != nil {
		return channel.Receipt{}, err
	}
	var one sent
	_ = answer.JSON(&one) // without a code the status decides
	return one.result(answer)
}

// sent is what Postmark answers about a mail.
type sent struct {
	ErrorCode *int      `json:"ErrorCode"`
	MessageID rest.Text `json:"MessageID"`
}

// result is what an answer that has s in it says of the mail.
func (s sent) result(a *rest.Answer) (channel.Receipt, error) {
	if s.ErrorCode == nil {
		return channel.Receipt{}, refusal(a, 0)
	}
	if id := rest.ProviderID(string(s.MessageID)); a.Status == http.StatusOK && *s.ErrorCode == 0 && id != "" {
		return channel.Receipt{ID: id}, nil
	}
	return channel.Receipt{}, refusal(a, *s.ErrorCode)
}

// The codes of Postmark's errors ("API error codes"), by what was wrong.
var (
	channelFaults = []int{10, 100, 400, 401, 405, 412, 413, 429, 1235}
	messageFaults = []int{402, 403, 409, 410, 411}
)

const inactive = 406

// refusal takes Postmark's own code, or zero; its message quotes addresses.
func refusal(a *rest.Answer, number int) error {
	code := ""
	if number != 0 {
		code = strconv.Itoa(number)
	}
	switch {
	case a.Status >= 500 && a.Status != http.StatusServiceUnavailable:
		return a.Unknown(code)
	case a.Status == http.StatusServiceUnavailable:
		return a.Away(code)
	case a.Status == http.StatusNotFound, slices.Contains(channelFaults, number):
		return a.Closed(code)
	case number == inactive:
		return a.Permanent(code).Suppressing(channel.HardBounce)
	case slices.Contains(messageFaults, number):
		return a.Permanent(code).Blame(channel.FaultMessage)
	}
	return a.Refusal(code)
}

// idField is the metadata in which the message id travels, and by which it is found.
const idField = "belfry_message"

// These are the body of a request to send an email, as far as it is used.
type (
	email struct {
		From          string            `json:"From"`
		To            string            `json:"To"`
		CC            string            `json:"Cc,omitempty"`
		BCC           string            `json:"Bcc,omitempty"`
		ReplyTo       string            `json:"ReplyTo,omitempty"`
		Subject       string            `json:"Subject"`
		Text          string            `json:"TextBody,omitempty"`
		HTML          string            `json:"HtmlBody,omitempty"`
		Headers       []header          `json:"Headers"`
		Attachments   []attachment      `json:"Attachments,omitempty"`
		Metadata      map[string]string `json:"Metadata"`
		MessageStream string            `json:"MessageStream"`
	}
	header struct {
		Name  string `json:"Name"`
		Value string `json:"Value"`
	}
	attachment struct {
		Name        string `json:"Name"`
		Content     []byte `json:"Content"` // base64
		ContentType string `json:"ContentType"`
		ContentID   string `json:"ContentID,omitempty"` // "cid:logo"
	}
)

// build makes the mail of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) (*email, error) {
	if err := rest.CheckMail(provider, m); err != nil {
		return nil, err
	}
	text := rest.MailText(m)
	if text == "" && m.HTML == "" {
		return nil, rest.Unsendable(provider, "empty", "message without subject, text and HTML")
	}
	e := email{
		From: rest.Spelled(c.from), To: rest.Spelled(mail.Address{Name: m.Name, Address: m.To}),
		CC: spelled(m.Mail.CC), BCC: spelled(m.Mail.BCC), ReplyTo: cmp.Or(spelled([]string{m.Mail.ReplyTo}), rest.Spelled(c.replyTo)),
		Subject: m.Subject, Text: text, HTML: m.HTML,
		Metadata: map[string]string{idField: m.ID}, MessageStream: c.stream,
	}
	all := rest.MailHeaders(m)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e.Headers = append(e.Headers, header{name, all[name]})
	}
	for _, a := range m.Attachments {
		file := attachment{a.Name, a.Data, a.MediaType, ""}
		if a.ContentID != "" {
			file.ContentID = "cid:" + a.ContentID
		}
		e.Attachments = append(e.Attachments, file)
	}
	return &e, nil
}

// spelled are mailboxes that were checked.
func spelled(all []string) string {
	var out []string
	for _, a := range rest.Mailboxes(all) {
		out = append(out, rest.Spelled(a))
	}
	return strings.Join(out, ", ")
}
