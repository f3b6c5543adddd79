package infobip

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "sms:infobip" or
	// "whatsapp:infobip".
	Key string
	// From is the sender: a number in E.164 form, or for SMS a short code or an
	// alphanumeric sender id.
	From string
	// Language is that of a WhatsApp template for a message without a Locale;
	// empty means "en".
	Language string
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

var (
	sender   = regexp.MustCompile(`^[A-Za-z0-9 ._&-]{1,16}$`) // for SMS
	language = regexp.MustCompile(`^[a-z]{2,3}([_-][A-Za-z]{2,4})?$`)
)

func (o Options) withDefaults(method string) Options {
	o.Key = cmp.Or(o.Key, method+":infobip")
	o.Language = cmp.Or(o.Language, "en")
	return o
}

// check notes what is wrong with o, for a channel of that method.
func (o Options) check(f *rest.Faults, method string) {
	number := rest.E164(o.From)
	switch {
	case o.From == "":
		f.Add(true, "From is required")
	case method == "whatsapp":
		f.Add(!number, "From is not a number in E.164 form, such as +447860099299")
	default:
		f.Add(!number && !sender.MatchString(o.From), "From is not a number in E.164 form, short code or sender id")
	}
	f.Add(!language.MatchString(o.Language), "Language is not a code such as en or en_GB")
}

func (o Options) client(apiKey string) rest.Options {
	return rest.Options{Provider: "infobip", Authorize: rest.Header("Authorization", "App "+apiKey),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}

var (
	_ channel.Channel      = (*Channel)(nil)
	_ channel.StatusLookup = (*Channel)(nil)
	_ channel.Bounded      = (*Channel)(nil)
)

// Channel sends messages through Infobip. It is safe for several goroutines.
// Close it when nothing sends any more.
type Channel struct {
	key, from, language string
	url                 string // of the API
	medium              medium
	client              *rest.Client
}

// medium is in what SMS and WhatsApp differ.
type medium struct {
	request  func(c *Channel, m channel.Message) (path string, body any)
	logs     string // the path of the logs
	template bool   // it knows templates
}

var (
	smsMedium      = medium{request: smsRequest, logs: "/sms/3/logs"}
	whatsAppMedium = medium{request: whatsAppRequest, logs: "/whatsapp/2/logs", template: true}
)

// NewSMS returns a channel for text messages. baseURL is the account's own
// address, such as "https://xxxxx.api.infobip.com". It does not connect yet. An
// error lists every setting that cannot be used, and never holds the key.
func NewSMS(baseURL, apiKey string, opts *Options) (*Channel, error) {
	return open("sms", smsMedium, baseURL, apiKey, opts)
}

// NewWhatsApp returns a channel for WhatsApp messages; see NewSMS.
func NewWhatsApp(baseURL, apiKey string, opts *Options) (*Channel, error) {
	return open("whatsapp", whatsAppMedium, baseURL, apiKey, opts)
}

func open(method string, md medium, baseURL, apiKey string, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options)).withDefaults(method)
	var f rest.Faults
	base := f.BaseURL("baseURL", baseURL)
	f.Secret("apiKey", apiKey)
	o.check(&f, method)
	ro := o.client(apiKey)
	ro.Check(&f)
	if err := f.Err("infobip"); err != nil {
		return nil, err
	}
	return &Channel{key: o.Key, from: o.From, language: o.Language, url: base, medium: md, client: rest.NewClient(ro)}, nil
}

// Key returns "sms:infobip" or "whatsapp:infobip", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are the templates of WhatsApp.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Template: c.medium.template, Callbacks: true}
}

// ReportedBy is the name of the [Webhook]'s provider, for any key.
func (c *Channel) ReportedBy() string { return provider }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A call at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send hands m to Infobip and returns its message id, which is ours, as the
// receipt. The package documentation says what the classes of its errors mean; a
// content that cannot be sent is Permanent, and so are attachments. Subject and
// HTML are not sent, and a template by WhatsApp only.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if err := c.check(m); err != nil {
		return channel.Receipt{}, err
	}
	path, body := c.medium.request(c, m)
	encoded, err := json.Marshal(body)
	if err != nil { // texts only
		return channel.Receipt{}, channel.Permanent("json", err)
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url + path, ContentType: "application/json", Body: encoded})
	if err != nil {
		return channel.Receipt{}, err
	}
	if answer.Status != http.StatusOK {
		return channel.Receipt{}, refusal(answer)
	}
	sent, err := firstSent(answer)
	if err != nil {
		return channel.Receipt{}, answer.Unknown("no-status")
	}
	if err := outcome(answer, sent); err != nil {
		return channel.Receipt{}, err
	}
	return channel.Receipt{ID: rest.ProviderID(string(sent.MessageID))}, nil
}

// refusal is an answer other than 200, in one of the two forms of Infobip's
// errors.
func refusal(a *rest.Answer) error {
	var body struct {
		RequestError struct {
			ServiceException struct {
				MessageID rest.Text `json:"messageId"` // "UNAUTHORIZED"
			} `json:"serviceException"`
		} `json:"requestError"`
		ErrorCode rest.Text `json:"errorCode"` // "E401"
	}
	if a.JSON(&body) != nil {
		return a.Refusal("")
	}
	if code := body.RequestError.ServiceException.MessageID; code != "" {
		return a.Refusal(string(code))
	}
	return a.Refusal(string(body.ErrorCode))
}

// Lookup asks the logs for the message. It is accepted if they have it with any
// status but a rejection, and absent if the first attempt was rejected. A later
// attempt has the same id, so there a rejection may be that of an earlier one,
// and like a message that is not there it says nothing.
func (c *Channel) Lookup(ctx context.Context, m channel.Message) (channel.LookupResult, error) {
	if rest.MessageID(m.ID) == "" {
		return channel.LookupResult{}, errors.New("infobip: message id is not 1 to 64 of a-z, 0-9, - and _")
	}
	query := url.Values{"messageId": {m.ID}}
	answer, err := c.client.Do(ctx, rest.Call{Method: http.MethodGet, URL: c.url + c.medium.logs + "?" + query.Encode()})
	if err != nil {
		return channel.LookupResult{}, err
	}
	if answer.Status != http.StatusOK {
		return channel.LookupResult{}, refusal(answer)
	}
	var logs struct {
		Results []sent `json:"results"`
	}
	if err := answer.JSON(&logs); err != nil {
		return channel.LookupResult{}, err
	}
	return verdict(logs.Results, m), nil
}

// LookupWindow is how long the logs keep a message, less an hour.
func (c *Channel) LookupWindow() time.Duration { return 47 * time.Hour }

func verdict(logs []sent, m channel.Message) (r channel.LookupResult) {
	for _, l := range logs {
		switch {
		case string(l.MessageID) != m.ID || l.Status.Name == duplicate || kinds[l.Status.GroupName] == "":
		case l.Status.GroupName != rejected:
			return channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: m.ID}}
		case m.Attempt <= 1:
			r.Status = channel.LookupAbsent
		}
	}
	return r
}

// check refuses what Infobip would refuse too, without asking it.
func (c *Channel) check(m channel.Message) error {
	if err := rest.CheckPhone("infobip", m); err != nil {
		return err
	}
	t := m.Template
	if m.Text == "" && (t.Name == "" || !c.medium.template) {
		return permanent("empty", "message without text and template")
	}
	if !c.medium.template {
		return nil
	}
	if err := rest.CheckTemplate("infobip", t); err != nil {
		return err
	}
	if t.Name != "" && !language.MatchString(c.languageOf(m)) {
		return permanent("language", "Locale is not a language of a template, such as en or en_GB")
	}
	return nil
}

func permanent(code, why string) error {
	return rest.Unsendable("infobip", code, why)
}

// languageOf is how WhatsApp writes the message's locale.
func (c *Channel) languageOf(m channel.Message) string {
	return rest.TemplateLanguage(m, c.language)
}

// number is one in the international form without its plus, as Infobip writes it.
func number(n string) string { return strings.TrimPrefix(n, "+") }

// These are the body of a request to "Send SMS messages" (v3), as far as it is
// used.
type (
	smsMessages struct {
		Messages []smsMessage `json:"messages"`
	}
	smsMessage struct {
		Sender       string           `json:"sender"`
		Destinations []smsDestination `json:"destinations"`
		Content      text             `json:"content"`
		Webhooks     callbackData     `json:"webhooks"`
	}
	smsDestination struct {
		To        string `json:"to"`
		MessageID string `json:"messageId"`
	}
	text struct {
		Text string `json:"text"`
	}
	callbackData struct {
		CallbackData string `json:"callbackData"`
	}
)

func smsRequest(c *Channel, m channel.Message) (path string, body any) {
	return "/sms/3/messages", smsMessages{[]smsMessage{{
		Sender:       number(c.from),
		Destinations: []smsDestination{{number(m.To), m.ID}},
		Content:      text{m.Text},
		Webhooks:     callbackData{m.ID},
	}}}
}

// These are the bodies of requests to "Send WhatsApp text message" and "Send
// WhatsApp template message", as far as they are used.
type (
	whatsAppMessages struct {
		Messages []whatsAppMessage `json:"messages"`
	}
	whatsAppMessage struct {
		From         string `json:"from"`
		To           string `json:"to"`
		MessageID    string `json:"messageId"`
		Content      any    `json:"content"` // text or template
		CallbackData string `json:"callbackData"`
	}
	template struct {
		TemplateName string       `json:"templateName"`
		TemplateData templateData `json:"templateData"`
		Language     string       `json:"language"`
	}
	templateData struct {
		Body placeholders `json:"body"`
	}
	placeholders struct {
		Placeholders []string `json:"placeholders"`
	}
)

func whatsAppRequest(c *Channel, m channel.Message) (path string, body any) {
	w := whatsAppMessage{From: number(c.from), To: number(m.To), MessageID: m.ID, CallbackData: m.ID}
	if m.Template.Name == "" {
		w.Content = text{m.Text}
		return "/whatsapp/1/message/text", w
	}
	params := append([]string{}, m.Template.Params...) // an empty list, never null
	w.Content = template{m.Template.Name, templateData{placeholders{params}}, c.languageOf(m)}
	return "/whatsapp/1/message/template", whatsAppMessages{[]whatsAppMessage{w}}
}
