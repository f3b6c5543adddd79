package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. Either Secrets or SecretsOf is required.
type Options struct {
	// Key is the key of the channel; empty means "webhook:standard".
	Key string
	// Secrets sign every message to every receiver: base64 of 24 to 64 random bytes, with or
	// without "whsec_" before it. More than one is for the time in which a secret is
	// replaced. Receivers who do not trust each other must not share a secret; see
	// SecretsOf.
	Secrets []string
	// SecretsOf gives the secrets of the receiver at that URL. It is called before
	// each request, from several goroutines. An error refuses the message for now
	// (Transient); its text is not kept.
	SecretsOf func(ctx context.Context, url string) ([]string, error)
	// Type is the "type" of every body; empty means "message".
	Type string
	// Deduplicates is for how long all receivers remember the ids of messages. A
	// message in doubt is sent again within that time after its first call; zero
	// means never.
	Deduplicates time.Duration
	// Trusted are hosts, names or IP addresses as in the URL, whose addresses need
	// not be public, and which may be called over http and on any port: receivers of
	// one's own, and servers of tests.
	Trusted []string
	// Ports may be called besides 443 at hosts that are not trusted.
	Ports []int
	// Timeout bounds one Send, in real time; zero means 15 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections to one host, and so the Sends at work; others
	// wait for their turn within their Timeout. Zero means 10.
	MaxConns int
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "webhook:standard")
	o.Type = cmp.Or(o.Type, "message")
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	return o
}

func (o Options) check(f *rest.Faults) {
	f.Add((len(o.Secrets) == 0) == (o.SecretsOf == nil), "either Secrets or SecretsOf is required")
	f.Add(o.Deduplicates < 0, "Deduplicates is negative")
	for _, host := range o.Trusted {
		f.Add(host == "" || strings.ContainsAny(host, "/@ *") || strings.Count(host, ":") == 1, "Trusted holds an entry that is not a host, such as hooks.internal or 10.0.0.7")
	}
}

func (o Options) client(d safedial.Dialer) rest.Options {
	return rest.Options{Provider: "webhook", Timeout: o.Timeout, MaxConns: o.MaxConns, TLS: o.TLSConfig, Dial: d.DialContext}
}

var (
	_ channel.Channel        = (*Channel)(nil)
	_ channel.IdempotentSend = (*Channel)(nil)
)

// Channel posts messages to the addresses of their recipients. It is safe for
// several goroutines. Close it when nothing sends any more.
type Channel struct {
	key, kind string
	window    time.Duration
	dialer    safedial.Dialer
	client    *rest.Client
	// keys are those of the receiver at the URL; a function, so that no printed
	// channel shows a secret.
	keys func(ctx context.Context, url string) (standardwebhooks.Keys, error)
}

// New returns a channel. An error lists every setting that cannot be used, and
// never holds a secret.
func New(opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options)).withDefaults()
	var f rest.Faults
	o.check(&f)
	c := &Channel{key: o.Key, kind: o.Type, window: o.Deduplicates, dialer: safedial.Dialer{Trusted: o.Trusted, Ports: o.Ports}}
	c.keys = keysOf(o.SecretsOf)
	if o.SecretsOf == nil && len(o.Secrets) > 0 {
		fixed, err := standardwebhooks.ParseKeys(o.Secrets...)
		if err != nil {
			f.Add(true, "Secrets: "+err.Error())
		}
		c.keys = func(context.Context, string) (standardwebhooks.Keys, error) { return fixed, nil }
	}
	ro := o.client(c.dialer)
	ro.Check(&f)
	if err := f.Err("webhook"); err != nil {
		return nil, err
	}
	c.client = rest.NewClient(ro)
	return c, nil
}

func keysOf(secrets func(context.Context, string) ([]string, error)) func(context.Context, string) (standardwebhooks.Keys, error) {
	return func(ctx context.Context, url string) (standardwebhooks.Keys, error) {
		all, err := secrets(ctx, url)
		if err != nil {
			return nil, err
		}
		return standardwebhooks.ParseKeys(all...)
	}
}

// Key returns "webhook:standard", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// IdempotencyWindow returns Options.Deduplicates.
func (c *Channel) IdempotencyWindow() time.Duration { return c.window }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send posts m to the URL in m.To. The receipt is empty, since receivers give
// none. The package documentation says what the classes of its errors mean; they
// hold neither the URL nor the host.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if err := c.check(m); err != nil {
		return channel.Receipt{}, err
	}
	keys, err := c.keys(ctx, m.To)
	if err != nil { // whose text may hold anything
		return channel.Receipt{}, channel.Transient("secrets", 0, errors.New("webhook: SecretsOf returned no secrets for the receiver"))
	}
	body, err := c.body(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: m.To, Header: keys.Header(m.ID, m.On, body), ContentType: "application/json", Body: body, StatusOnly: true})
	if err != nil {
		return channel.Receipt{}, rest.OfReceiver("webhook", err)
	}
	return channel.Receipt{}, outcome(answer)
}

// outcome is nil for 2xx. A receiver has its own reasons for 401 or 404, and would
// have them again; what it asks to repeat is repeated.
func outcome(a *rest.Answer) error {
	switch {
	case a.Status/100 == 2:
		return nil
	case a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooEarly, a.Status == http.StatusTooManyRequests:
		return a.Transient("").Blame(channel.FaultAddress)
	case a.Status == http.StatusGone: // "no more" (Standard Webhooks, "Response status codes")
		return a.Permanent("").Suppressing(channel.HardBounce)
	case a.Status/100 == 4:
		return a.Permanent("").Blame(channel.FaultAddress)
	}
	return a.Refusal("").Blame(channel.FaultAddress)
}

// check refuses what cannot be sent, without a connection.
func (c *Channel) check(m channel.Message) error {
	switch {
	case rest.MessageID(m.ID) == "":
		return permanent("id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	case !c.dialer.Callable(m.To):
		return permanent("address", "recipient is not an address of the form https://host/path with an open port").Blame(channel.FaultAddress)
	case m.On.IsZero():
		return permanent("date", "message without On, the time that is signed")
	case len(m.Attachments) > 0:
		return permanent("attachments", "a message with attachments cannot be sent")
	case !m.Mail.IsZero():
		return permanent("mail", "a message with Content.Mail is for e-mail only")
	}
	return nil
}

func permanent(code, why string) *channel.Error {
	return channel.Permanent(code, errors.New("webhook: "+why)).Blame(channel.FaultMessage)
}

// These are the body of a request. Nothing in it depends on the attempt.
type (
	body struct {
		Type string `json:"type"`
		Data data   `json:"data"`
	}
	data struct {
		ID             string                   `json:"id"`
		Name           string                   `json:"name,omitempty"`
		Subject        string                   `json:"subject,omitempty"`
		Text           string                   `json:"text,omitempty"`
		HTML           string                   `json:"html,omitempty"`
		Locale         string                   `json:"locale,omitempty"`
		Template       channel.ProviderTemplate `json:"template,omitzero"`
		Metadata       map[string]string        `json:"metadata,omitempty"`
		UnsubscribeURL string                   `json:"unsubscribeUrl,omitempty"`
	}
)

func (c *Channel) body(m channel.Message) ([]byte, error) {
	text, err := json.Marshal(body{c.kind, data{
		ID: m.ID, Name: m.Name, Subject: m.Subject, Text: m.Text, HTML: m.HTML, Locale: m.Locale,
		Template: m.Template, Metadata: m.Metadata, UnsubscribeURL: m.UnsubscribeURL,
	}})
	if err != nil { // texts only
		return nil, channel.Permanent("json", err)
	}
	return text, nil
}

// Verify is for receivers in Go: it proves that a request with these headers and
// this raw body was signed with the secret, at most five minutes from now. A
// receiver that replaces its secret verifies with either. It does not know which
// ids came before. The error says what is wrong, and holds no secret.
func Verify(secret string, h http.Header, body []byte, now time.Time) error {
	keys, err := standardwebhooks.ParseKeys(secret)
	if err != nil {
		return err
	}
	return keys.Verify(h, body, now)
}
