package apns

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel; nil means all defaults.
type Options struct {
	// Key is the key of the channel; empty means "push:apns".
	Key string
	// BaseURL is the API's address; empty means "https://api.push.apple.com". Apps that are
	// in development have tokens of "https://api.sandbox.push.apple.com".
	BaseURL string
	// Sound is what a device plays: "default", or a sound of the app; empty: nothing.
	Sound string
	// Priority is 10, at once, 5, when it suits the device's battery, or 1, which wakes no
	// device; zero means 10.
	Priority int
	// Timeout bounds one request, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxCalls bounds the Sends at work, which share connections; others wait for
	// their turn within their Timeout. Zero means 10.
	MaxCalls int
	// Proxy is an HTTP proxy; nil means none: that of the environment is not used.
	Proxy *url.URL
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

const provider = "apns"

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Bounded = (*Channel)(nil)
	_ channel.Capable = (*Channel)(nil)
)

// Channel sends notifications through Apple. It is safe for several goroutines. Close
// it when nothing sends any more.
type Channel struct {
	key, url, topic, sound, priority string

	client *rest.Client
	tokens *tokens // nil: the certificate speaks
}

// New returns a channel to the app of that topic, which is its bundle id. It does not
// connect yet. An error lists everything that cannot be used, and holds no credential.
func New(topic string, by Credentials, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options))
	var f rest.Faults
	f.Add(!topics.MatchString(topic), "topic is not of letters, digits, '.' and '-'")
	priority := cmp.Or(o.Priority, 10)
	f.Add(priority != 10 && priority != 5 && priority != 1, "Priority is not 10, 5 or 1")
	base := f.BaseURL("BaseURL", cmp.Or(o.BaseURL, "https://api.push.apple.com"))
	own, tokens := by.use(o.TLSConfig, &f)
	ro := rest.Options{Provider: provider, Timeout: o.Timeout, MaxConns: max(o.MaxCalls, 0), HTTP2: true, Proxy: o.Proxy, TLS: own}
	f.Add(o.MaxCalls < 0, "MaxCalls is negative")
	ro.Check(&f)
	if err := f.Err(provider); err != nil {
		return nil, err
	}
	return &Channel{key: cmp.Or(o.Key, "push:apns"), url: base + "/3/device/", topic: topic, sound: o.Sound, priority: strconv.Itoa(priority),
		client: rest.NewClient(ro), tokens: tokens}, nil
}

var topics = regexp.MustCompile(`^[A-Za-z0-9.-]{1,200}$`)

// Key returns "push:apns", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are collapse keys and times to live.
func (c *Channel) Capabilities() channel.Capabilities { return channel.Capabilities{Push: true} }

// MaxCalls is Options.MaxCalls.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send sends m's Subject and Text and returns Apple's apns-id as the receipt. The package
// documentation says what the classes of its errors mean. HTML is not sent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	header := c.header(m)
	token, err := c.tokens.get(m.On)
	if err != nil {
		return channel.Receipt{}, err
	}
	if token != "" {
		header.Set("Authorization", "bearer "+token)
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url + m.To, Header: header, ContentType: "application/json", Body: body})
	if err != nil {
		return channel.Receipt{}, err
	}
	if answer.Status == http.StatusForbidden {
		c.tokens.refuse(token)
	}
	return outcome(answer)
}

func outcome(a *rest.Answer) (channel.Receipt, error) {
	if a.Status != http.StatusOK {
		var said struct {
			Reason rest.Text `json:"reason"`
		}
		_ = a.JSON(&said) // without a reason the status decides
		return channel.Receipt{}, refusal(a, string(said.Reason))
	}
	id := rest.ProviderID(a.Header.Get("Apns-Id"))
	if id == "" {
		return channel.Receipt{}, a.Unknown("no-id")
	}
	return channel.Receipt{ID: id}, nil
}

// settings are the reasons of 400 and 429 that are the same for every message.
var settings = map[string]bool{
	"BadTopic": true, "MissingTopic": true, "TopicDisallowed": true, "InvalidPushType": true, "TooManyProviderTokenUpdates": true,
}

// refusal judges by Apple's reason, where the status does not tell.
func refusal(a *rest.Answer, reason string) *channel.Error {
	switch a.Status {
	case http.StatusGone:
		return a.Permanent(reason).Suppressing(channel.HardBounce)
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return a.Closed(reason)
	case http.StatusRequestEntityTooLarge:
		return a.Permanent(reason).Blame(channel.FaultMessage)
	case http.StatusBadRequest, http.StatusTooManyRequests:
		switch reason {
		case "BadDeviceToken", "DeviceTokenNotForTopic":
			return a.Permanent(reason).Blame(channel.FaultAddress)
		case "TooManyRequests": // to one device
			return a.Transient(reason).Blame(channel.FaultAddress)
		case "IdleTimeout":
			return a.Transient(reason)
		}
		if settings[reason] {
			return a.Closed(reason)
		}
		if a.Status == http.StatusBadRequest {
			return a.Permanent(reason).Blame(channel.FaultMessage)
		}
	}
	return a.Refusal(reason)
}

// These are the body of a request, as far as it is used.
type (
	payload struct {
		APS  aps               `json:"aps"`
		Data map[string]string `json:"data"`
	}
	aps struct {
		Alert alert  `json:"alert"`
		Sound string `json:"sound,omitempty"`
	}
	alert struct {
		Title string `json:"title,omitempty"`
		Body  string `json:"body,omitempty"`
	}
)

const (
	idField = "belfry_message"
	maxSize = 4096                // bytes of a payload
	maxLife = 30 * 24 * time.Hour // for which Apple keeps a notification
)

// devices have tokens of 32 bytes today, of which Apple says that they may grow.
var devices = regexp.MustCompile(`^([0-9A-Fa-f]{2}){16,100}$`)

// build makes the payload of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) ([]byte, error) {
	if err := rest.CheckPush(provider, m); err != nil {
		return nil, err
	}
	if !devices.MatchString(m.To) {
		return nil, rest.Unsendable(provider, "address", "recipient is not a device token in hex").Blame(channel.FaultAddress)
	}
	data := map[string]string{}
	maps.Copy(data, m.Metadata)
	data[idField] = m.ID
	body, err := json.Marshal(payload{aps{alert{m.Subject, m.Text}, c.sound}, data})
	if err != nil { // texts only
		return nil, channel.Permanent("json", err)
	}
	if len(body) > maxSize {
		return nil, rest.Unsendable(provider, "size", "title, body and data have more than 4096 bytes as JSON")
	}
	return body, nil
}

// header is of an alert, since every message has a title or a body.
func (c *Channel) header(m channel.Message) http.Header {
	h := http.Header{}
	h.Set("Apns-Topic", c.topic)
	h.Set("Apns-Push-Type", "alert")
	h.Set("Apns-Priority", c.priority)
	h.Set("Apns-Expiration", strconv.FormatInt(m.On.Add(rest.Lifetime(m, maxLife)).Unix(), 10))
	h.Set("Apns-Id", uuid(m.ID))
	if m.CollapseKey != "" {
		h.Set("Apns-Collapse-Id", m.CollapseKey) // at most 64 bytes, as rest.CheckPush has it
	}
	return h
}

// uuid is a message id as Apple writes them. Those of notify are 32 digits in hex already.
func uuid(id string) string {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != 16 {
		sum := sha256.Sum256([]byte(id))
		raw = sum[:16]
	}
	text := hex.EncodeToString(raw)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
