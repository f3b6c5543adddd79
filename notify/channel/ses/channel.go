package ses

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "email:ses".
	Key string
	// From is the sender, with or without a display name: an identity of the account.
	From string
	// ReplyTo is where answers go unless a message says so; empty: to From.
	ReplyTo string
	// ConfigurationSet is the one that publishes events to the webhook's topic. Empty:
	// there are no callbacks.
	ConfigurationSet string
	// BaseURL is the API's address; empty means that of the region.
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
	_ channel.Capable = (*Channel)(nil)
)

// Channel sends mails through Amazon SES. It is safe for several goroutines. Close it
// when nothing sends any more.
type Channel struct {
	key, url, region, set string
	sender                mail.Sender
	client                *rest.Client
	signer                *v4.Signer
	// credentials are a function, so that no printed channel shows them.
	credentials func(context.Context) (aws.Credentials, error)
}

// The forms of a region and of a configuration set.
var (
	regions = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)
	sets    = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)
)

// New returns a channel that calls SES in a region with the credentials, which are asked
// for at each call so the caller should cache them (aws.CredentialsCache). It does not
// connect yet. An error lists every setting that cannot be used.
func New(region string, credentials aws.CredentialsProvider, opts *Options) (*Channel, error) {
	o := *cmp.Or(opts, new(Options))
	var f rest.Faults
	f.Add(!regions.MatchString(region), "region is not of the form eu-west-1")
	f.Add(credentials == nil, "credentials are required")
	f.Add(!sets.MatchString(o.ConfigurationSet), "ConfigurationSet is not of letters, digits, '-' and '_'")
	sender, err := mail.NewSender(o.From, o.ReplyTo)
	f.Add(err != nil, "From or ReplyTo is not a mail address")
	base := f.BaseURL("BaseURL", cmp.Or(o.BaseURL, "https://email."+region+".amazonaws.com"))
	ro := rest.Options{Provider: provider, Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
	ro.Check(&f)
	if err := f.Err(provider); err != nil {
		return nil, err
	}
	return &Channel{key: cmp.Or(o.Key, "email:ses"), url: base + "/v2/email/outbound-emails", region: region, set: o.ConfigurationSet,
		sender: sender, client: rest.NewClient(ro), signer: v4.NewSigner(), credentials: credentials.Retrieve}, nil
}

// Key returns "email:ses", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are all that mails have, and callbacks with a ConfigurationSet.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true, Callbacks: c.set != ""}
}

// ReportedBy is the name of the [Webhook]'s provider, for any key.
func (c *Channel) ReportedBy() string { return provider }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send hands m to SES as a finished mail, and returns its MessageId as the receipt. The
// package documentation says what the classes of its errors mean; a content that makes no
// mail is Permanent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	sign, err := c.signature(ctx, body, m.On)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json", Body: body, Sign: sign})
	if err != nil {
		return channel.Receipt{}, err
	}
	var sent struct {
		MessageID rest.Text `json:"MessageId"`
	}
	err = answer.JSON(&sent)
	id := rest.ProviderID(string(sent.MessageID))
	switch {
	case answer.Status != http.StatusOK:
		return channel.Receipt{}, refusal(answer)
	case err != nil || id == "":
		return channel.Receipt{}, answer.Unknown("no-id")
	}
	return channel.Receipt{ID: id}, nil
}

// signature signs a request of that body.
func (c *Channel) signature(ctx context.Context, body []byte, at time.Time) (func(*http.Request) error, error) {
	secret, err := c.credentials(ctx)
	if err != nil {
		e := channel.Transient("credentials", 0, errors.New("ses: the credentials are not available now")) // theirs may name an account
		if ctx.Err() != nil {
			return nil, e
		}
		return nil, e.Blame(channel.FaultAccount)
	}
	sum := sha256.Sum256(body)
	return func(r *http.Request) error {
		return c.signer.SignHTTP(ctx, secret, r, hex.EncodeToString(sum[:]), "ses", c.region, at)
	}, nil
}

// closed are the errors of the account, its identities and its rate that are no 403.
var closed = map[string]bool{
	"AccountSuspendedException": true, "SendingPausedException": true, "MailFromDomainNotVerifiedException": true,
	"LimitExceededException": true, "NotFoundException": true, "TooManyRequestsException": true,
	"Throttling": true, "ThrottlingException": true, "RequestExpired": true, "ExpiredTokenException": true, "InvalidSignatureException": true,
	"MissingAuthenticationToken": true, "IncompleteSignature": true, "InvalidClientTokenId": true, "OptInRequired": true,
}

// refusal judges by the type of the error; the message may quote addresses.
func refusal(a *rest.Answer) *channel.Error {
	code, _, _ := strings.Cut(a.Header.Get("X-Amzn-Errortype"), ":")
	if closed[code] && a.Status/100 == 4 {
		return a.Closed(code)
	}
	return a.Refusal(code)
}

// These are the body of a request, as far as it is used.
type (
	request struct {
		From        string      `json:"FromEmailAddress"`
		Destination destination `json:"Destination"`
		Content     content     `json:"Content"`
		Tags        []tag       `json:"EmailTags"`
		Set         string      `json:"ConfigurationSetName,omitempty"`
	}
	destination struct {
		To  []string `json:"ToAddresses"`
		BCC []string `json:"BccAddresses,omitempty"` // all copies: the headers say who sees whom
	}
	content struct {
		Raw raw `json:"Raw"`
	}
	raw struct {
		Data []byte `json:"Data"` // base64
	}
	tag struct {
		Name  string `json:"Name"`
		Value string `json:"Value"`
	}
)

// tagName is the tag in which the message id travels.
const tagName = "belfry_message"

// maxMail is what SES takes of a mail, encoded as it is ("Service quotas").
const maxMail = 40 << 20

// build makes the request of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) ([]byte, error) {
	built, err := c.sender.Build(m)
	switch {
	case err != nil:
		return nil, err
	case built.UTF8:
		return nil, rest.Unsendable(provider, "address", "an address with a local part outside ASCII, which SES does not take").Blame(channel.FaultAddress)
	case len(built.Bytes) > maxMail:
		return nil, rest.Unsendable(provider, "size", "mail of more than 40 MB")
	}
	r := request{From: bare(built.From), Destination: destination{To: []string{bare(built.To)}}, Content: content{raw{built.Bytes}},
		Tags: []tag{{tagName, m.ID}}, Set: c.set}
	for _, to := range built.Copies {
		r.Destination.BCC = append(r.Destination.BCC, bare(to))
	}
	body, err := json.Marshal(r)
	if err != nil { // texts and bytes only
		return nil, channel.Permanent("mail", err)
	}
	return body, nil
}

// bare is an address of an envelope without its angle brackets.
func bare(address string) string { return strings.Trim(address, "<>") }
