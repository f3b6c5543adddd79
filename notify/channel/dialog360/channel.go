package dialog360

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel; nil means all defaults. The number that
// messages come from belongs to the API key.
type Options struct {
	// Key is the key of the channel; empty means "whatsapp:dialog360".
	Key string
	// Language is that of a template for a message without a Locale; empty means
	// "en".
	Language string
	// BaseURL is the API's address; empty means "https://waba-v2.360dialog.io".
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

// language is one as WhatsApp writes it: "pt_BR".
var language = regexp.MustCompile(`^[a-z]{2,3}(_[A-Z]{2,3})?$`)

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "whatsapp:dialog360")
	o.Language = cmp.Or(o.Language, "en")
	o.BaseURL = cmp.Or(o.BaseURL, "https://waba-v2.360dialog.io")
	return o
}

func (o Options) client(apiKey string) rest.Options {
	return rest.Options{Provider: "dialog360", Authorize: rest.Header("D360-API-KEY", apiKey),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Bounded = (*Channel)(nil)
)

// Channel sends WhatsApp messages through 360dialog. It is safe for several
// goroutines. Close it when nothing sends any more.
type Channel struct {
	key, url, language string
	client             *rest.Client
}

// New returns a channel that calls with the API key of a number. It does not
// connect yet. An error lists every setting that cannot be used, and never holds
// the key.
func New(apiKey string, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options)).withDefaults()
	var f rest.Faults
	f.Secret("apiKey", apiKey)
	f.Add(!language.MatchString(o.Language), "Language is not a code such as en or pt_BR")
	base := f.BaseURL("BaseURL", o.BaseURL)
	ro := o.client(apiKey)
	ro.Check(&f)
	if err := f.Err("dialog360"); err != nil {
		return nil, err
	}
	return &Channel{key: o.Key, url: base + "/messages", language: o.Language, client: rest.NewClient(ro)}, nil
}

// Key returns "whatsapp:dialog360", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are the templates of WhatsApp.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Template: true, Callbacks: true}
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

// Send hands m to 360dialog and returns WhatsApp's message id as the receipt. The
// package documentation says what the classes of its errors mean; a content that
// cannot be sent is Permanent, and so are attachments.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json", Body: body})
	if err != nil {
		return channel.Receipt{}, err
	}
	if answer.Status != http.StatusOK && answer.Status != http.StatusCreated {
		return channel.Receipt{}, refusal(answer)
	}
	id := sentID(answer)
	if id == "" {
		return channel.Receipt{}, answer.Unknown("no-id")
	}
	return channel.Receipt{ID: id}, nil
}

func sentID(a *rest.Answer) string {
	var body struct {
		Messages []struct {
			ID rest.Text `json:"id"`
		} `json:"messages"`
	}
	if a.JSON(&body) != nil || len(body.Messages) != 1 {
		return ""
	}
	return rest.ProviderID(string(body.Messages[0].ID))
}

// metaCode is the code of an error of Meta; one of 360dialog has none, and is a
// text where Meta has an object.
func metaCode(a *rest.Answer) string {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	var inner struct {
		Code rest.Text `json:"code"`
	}
	if a.JSON(&body) != nil || json.Unmarshal(body.Error, &inner) != nil {
		return ""
	}
	return string(inner.Code)
}

// transient are Meta's codes that do not speak of the message but of who sends it
// or of Meta (WhatsApp Business Platform, "Error codes"). Most come with 400.
var transient = map[string]bool{
	"0":      true, // the access token could not be checked
	"2":      true, // down or overloaded
	"3":      true, // capability or permissions
	"4":      true, // too many calls of the app
	"10":     true, // permission not granted
	"190":    true, // access token expired
	"368":    true, // blocked for a while, for a policy
	"80007":  true, // too many calls of the account
	"130429": true, // too many messages of the number
	"131005": true, // permission not granted
	"131016": true, // service unavailable
	"131031": true, // account locked
	"131037": true, // display name not approved yet
	"131042": true, // payment
	"131045": true, // certificate of the number
	"131048": true, // number restricted for its quality
	"131056": true, // too many messages to this recipient in a short time
	"131057": true, // account in maintenance
	"132015": true, // template paused for its quality
	"133004": true, // server unavailable
	"133010": true, // number not registered
	"133016": true, // number registered too often
}

// away are those of transient that speak of Meta.
var away = map[string]bool{"2": true, "131016": true, "133004": true}

// of says what the codes blame that do not speak of who sends or of Meta.
var of = map[string]channel.Fault{
	"131056": channel.FaultAddress, // too many messages to this recipient
	"131026": channel.FaultAddress, // cannot be delivered to this recipient
	"131021": channel.FaultAddress, // the recipient is the sender
	"132015": channel.FaultMessage, // template paused for its quality
	"130497": channel.FaultAddress, // the recipient's country is restricted
}

// restrictedCountry comes with 403, but is about the recipient.
const restrictedCountry = "130497"

// unknown are the codes of errors that Meta cannot explain.
var unknown = map[string]bool{"1": true, "131000": true}

// refusal judges by Meta's code first, by the status where there is none. All of
// 360dialog's own answers with 400 are about the account: it is disabled, over its
// rate or has not paid (360dialog documentation, "Error Code Reference").
func refusal(a *rest.Answer) *channel.Error {
	code := metaCode(a)
	e := judge(a, code)
	if code == optedOut && e.Permanent() {
		return e.Suppressing(channel.Unsubscribe)
	}
	if f, ok := of[code]; ok {
		return e.Blame(f)
	}
	return e
}

func judge(a *rest.Answer, code string) *channel.Error {
	n, err := strconv.Atoi(code)
	switch {
	case unknown[code]:
		return a.Unknown(code)
	case code == restrictedCountry:
		return a.Permanent(code)
	case away[code]:
		return a.Away(code)
	case transient[code], err == nil && 200 <= n && n < 300, // permissions
		code == "" && a.Status == http.StatusBadRequest:
		return a.Closed(code)
	}
	return a.Refusal(code)
}

// maxText is how many characters WhatsApp takes (WhatsApp Business Platform,
// "Text messages").
const maxText = 4096

// check refuses what WhatsApp would refuse too, without asking it.
func (c *Channel) check(m channel.Message) error {
	if err := rest.CheckPhone("dialog360", m); err != nil {
		return err
	}
	t := m.Template
	switch {
	case t.Name == "" && m.Text == "":
		return permanent("empty", "message without text and template")
	case t.Name == "" && utf8.RuneCountInString(m.Text) > maxText:
		return permanent("text", "text is longer than 4096 characters")
	}
	if err := rest.CheckTemplate("dialog360", t); err != nil {
		return err
	}
	if t.Name != "" && !language.MatchString(c.languageOf(m)) {
		return permanent("language", "Locale is not a language of a template, such as en or pt-BR")
	}
	return nil
}

func permanent(code, why string) error {
	return rest.Unsendable("dialog360", code, why)
}

// languageOf is how WhatsApp writes the message's locale.
func (c *Channel) languageOf(m channel.Message) string {
	return rest.TemplateLanguage(m, c.language)
}

// These are the body of a request to send a message, as far as it is used
// (WhatsApp Business Platform, "Messages").
type (
	messageRequest struct {
		Product   string    `json:"messaging_product"`
		Recipient string    `json:"recipient_type"`
		To        string    `json:"to"`
		Type      string    `json:"type"`
		Text      *text     `json:"text,omitempty"`
		Template  *template `json:"template,omitempty"`
		// Ours comes back in every status of the message.
		Ours string `json:"biz_opaque_callback_data"`
	}
	text struct {
		Preview bool   `json:"preview_url"`
		Body    string `json:"body"`
	}
	template struct {
		Name       string         `json:"name"`
		Language   templateLocale `json:"language"`
		Components []component    `json:"components,omitempty"`
	}
	templateLocale struct {
		Code string `json:"code"`
	}
	component struct {
		Type       string      `json:"type"`
		Parameters []parameter `json:"parameters"`
	}
	parameter struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
)

// build makes the request of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) ([]byte, error) {
	if err := c.check(m); err != nil {
		return nil, err
	}
	r := messageRequest{Product: "whatsapp", Recipient: "individual", To: m.To, Type: "text", Ours: m.ID}
	if m.Template.Name == "" {
		r.Text = &text{Body: m.Text}
	} else {
		r.Type, r.Template = "template", &template{m.Template.Name, templateLocale{c.languageOf(m)}, components(m.Template.Params)}
	}
	body, err := json.Marshal(r)
	if err != nil { // texts only
		return nil, channel.Permanent("json", err)
	}
	return body, nil
}

func components(params []string) []component {
	if len(params) == 0 {
		return nil
	}
	body := component{Type: "body"}
	for _, p := range params {
		body.Parameters = append(body.Parameters, parameter{"text", p})
	}
	return []component{body}
}
