package twilio

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From or MessagingServiceSID is required.
type Options struct {
	// Key is the key of the channel; empty means "sms:twilio" or
	// "whatsapp:twilio".
	Key string
	// From is the sender: a number in E.164 form, or for SMS a short code or an
	// alphanumeric sender id.
	From string
	// MessagingServiceSID ("MG…") leaves the choice of the sender to a messaging
	// service, instead of From.
	MessagingServiceSID string
	// APIKeySID ("SK…") is the API key whose secret New was given; empty means that
	// New was given the auth token.
	APIKeySID string
	// StatusCallback is the public address of the host's webhook, as https and
	// without a query. Twilio calls it with the message id as the query
	// "belfry_message". Empty: statuses come only if the messaging service has an
	// address for them, and nothing but a person settles a doubt.
	StatusCallback string
	// BaseURL is the API's address; empty means "https://api.twilio.com". In other
	// regions it is such as "https://api.dublin.ie1.twilio.com".
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

// The forms of Twilio's identifiers and of senders.
var (
	accountSID = regexp.MustCompile(`^AC[0-9a-f]{32}$`)
	serviceSID = regexp.MustCompile(`^MG[0-9a-f]{32}$`)
	keySID     = regexp.MustCompile(`^SK[0-9a-f]{32}$`)
	messageSID = regexp.MustCompile(`^(SM|MM)[0-9a-f]{32}$`)
	contentSID = regexp.MustCompile(`^HX[0-9a-f]{32}$`)
	shortCode  = regexp.MustCompile(`^[0-9]{3,8}$`)
	senderID   = regexp.MustCompile(`^[A-Za-z0-9 +_&-]{1,11}$`) // with a letter
	letter     = regexp.MustCompile(`[A-Za-z]`)
)

// check notes what is wrong with o, for a channel of that method.
func (o Options) check(f *rest.Faults, method string) {
	service := o.MessagingServiceSID
	f.Add(o.From == "" && service == "", "From or MessagingServiceSID is required")
	f.Add(o.From != "" && service != "", "only one of From and MessagingServiceSID can be set")
	f.Add(service != "" && !serviceSID.MatchString(service), "MessagingServiceSID is not MG and 32 hex digits")
	f.Add(o.APIKeySID != "" && !keySID.MatchString(o.APIKeySID), "APIKeySID is not SK and 32 hex digits")
	if o.From != "" && !rest.E164(o.From) {
		f.Add(method == "whatsapp", "From is not a number in E.164 form, such as +14155238886")
		named := senderID.MatchString(o.From) && letter.MatchString(o.From)
		f.Add(method == "sms" && !named && !shortCode.MatchString(o.From), "From is not a number in E.164 form, short code or sender id")
	}
	if o.StatusCallback != "" {
		f.BaseURL("StatusCallback", o.StatusCallback)
	}
}

func (o Options) client(account, secret string) rest.Options {
	user := cmp.Or(o.APIKeySID, account)
	return rest.Options{Provider: "twilio", Authorize: rest.Basic(user, secret),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}

// callback is where Twilio reports on the message.
func (o Options) callback(messageID string) string {
	if o.StatusCallback == "" {
		return ""
	}
	return o.StatusCallback + "?" + idParam + "=" + url.QueryEscape(messageID)
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Bounded = (*Channel)(nil)
)

// Channel sends messages through Twilio. It is safe for several goroutines.
// Close it when nothing sends any more.
type Channel struct {
	url      string
	whatsApp bool
	options  Options
	client   *rest.Client
}

// NewSMS returns a channel for text messages of the account ("AC…"), which calls
// with its auth token, or with the secret of Options.APIKeySID. It does not
// connect yet. An error lists every setting that cannot be used, and never holds
// the secret.
func NewSMS(accountSID, secret string, opts *Options) (*Channel, error) {
	return open("sms", accountSID, secret, opts)
}

// NewWhatsApp returns a channel for WhatsApp messages; see NewSMS.
func NewWhatsApp(accountSID, secret string, opts *Options) (*Channel, error) {
	return open("whatsapp", accountSID, secret, opts)
}

func open(method, account, secret string, opts *Options) (*Channel, error) {
	o := *cmp.Or(opts, new(Options))
	o.Key = cmp.Or(o.Key, method+":twilio")
	var f rest.Faults
	f.Add(!accountSID.MatchString(account), "accountSID is not AC and 32 hex digits")
	f.Secret("secret", secret)
	o.check(&f, method)
	base := f.BaseURL("BaseURL", cmp.Or(o.BaseURL, "https://api.twilio.com"))
	ro := o.client(account, secret)
	ro.Check(&f)
	if err := f.Err("twilio"); err != nil {
		return nil, err
	}
	return &Channel{url: base + "/2010-04-01/Accounts/" + account + "/Messages.json",
		whatsApp: method == "whatsapp", options: o, client: rest.NewClient(ro)}, nil
}

// Key returns "sms:twilio" or "whatsapp:twilio", or what Options.Key says.
func (c *Channel) Key() string { return c.options.Key }

// Capabilities are texts that Twilio holds, and callbacks if it is told where.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Template: true, Callbacks: c.options.StatusCallback != ""}
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

// Send hands m to Twilio and returns its SID as the receipt. The package
// documentation says what the classes of its errors mean; a content that cannot
// be sent is Permanent, and so are attachments. Subject and HTML are not sent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	form, err := c.form(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/x-www-form-urlencoded", Body: []byte(form.Encode())})
	if err != nil {
		return channel.Receipt{}, err
	}
	var body struct {
		SID  rest.Text `json:"sid"`
		Code rest.Text `json:"code"`
	}
	err = answer.JSON(&body)
	if answer.Status/100 != 2 {
		return channel.Receipt{}, refusal(answer, string(body.Code))
	}
	if err != nil || !messageSID.MatchString(string(body.SID)) {
		return channel.Receipt{}, answer.Unknown("no-sid")
	}
	return channel.Receipt{ID: string(body.SID)}, nil
}

// busy are the codes of a refusal that passes, whatever the status (Twilio
// documentation, "Error and Warning Dictionary").
var busy = map[string]bool{
	"21611": true, // the sender's queue is full
	"63038": true, // the account's daily limit is reached
}

// of says what the codes of other refusals blame; they are Permanent.
var of = map[string]channel.Fault{
	"21211": channel.FaultAddress, // To is not a number
	"21214": channel.FaultAddress, // To cannot be reached
	"21408": channel.FaultAddress, // To is in a region that is not permitted
	"21610": channel.FaultAddress, // To has sent STOP
	"21612": channel.FaultAddress, // there is no way to To
	"21614": channel.FaultAddress, // To is not a mobile number
	"21212": channel.FaultAccount, // From is not a number
	"21606": channel.FaultAccount, // From is not of this account
	"21603": channel.FaultAccount, // there is no From
	"21659": channel.FaultAccount, // From is not of this account
	"21660": channel.FaultAccount, // From is not of this account
}

// suppresses are the codes of a number to which nothing will ever be sent.
var suppresses = map[string]channel.SuppressionReason{
	"21211": channel.HardBounce,  // it is not a number
	"21610": channel.Unsubscribe, // it has sent STOP
	"21614": channel.HardBounce,  // it is not a mobile number
}

func refusal(a *rest.Answer, code string) error {
	if busy[code] {
		return a.Closed(code)
	}
	e := a.Refusal(code)
	if r, ok := suppresses[code]; ok {
		return e.Suppressing(r)
	}
	if f, ok := of[code]; ok {
		return e.Blame(f)
	}
	return e
}

// form makes the parameters of m, or says with a Permanent error why it cannot.
func (c *Channel) form(m channel.Message) (url.Values, error) {
	if err := check(m); err != nil {
		return nil, err
	}
	form := url.Values{"To": {c.address(m.To)}}
	set := func(name, value string) {
		if value != "" {
			form.Set(name, value)
		}
	}
	set("From", c.address(c.options.From))
	set("MessagingServiceSid", c.options.MessagingServiceSID)
	set("StatusCallback", c.options.callback(m.ID))
	if m.Template.Name == "" {
		set("Body", m.Text)
		return form, nil
	}
	set("ContentSid", m.Template.Name)
	set("ContentVariables", variables(m.Template.Params))
	return form, nil
}

func check(m channel.Message) error {
	if err := rest.CheckPhone("twilio", m); err != nil {
		return err
	}
	switch {
	case m.Template.Name != "" && !contentSID.MatchString(m.Template.Name):
		return permanent("template", "template is not a Content SID, HX and 32 hex digits")
	case m.Template.Name == "" && m.Text == "":
		return permanent("empty", "message without text and template")
	}
	return nil
}

func permanent(code, why string) error {
	return rest.Unsendable("twilio", code, why)
}

// address is a number as the channel's medium writes it.
func (c *Channel) address(number string) string {
	if c.whatsApp && number != "" {
		return "whatsapp:" + number
	}
	return number
}

// variables numbers the parameters from 1, as WhatsApp's placeholders are.
func variables(params []string) string {
	if len(params) == 0 {
		return ""
	}
	byNumber := make(map[string]string, len(params))
	for i, p := range params {
		byNumber[strconv.Itoa(i+1)] = p
	}
	text, _ := json.Marshal(byNumber) // texts can be marshalled
	return string(text)
}
