package webpush

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel; nil means all defaults.
type Options struct {
	// Key is the key of the channel; empty means "push:webpush".
	Key string
	// Urgency is "very-low", "low", "normal" or "high": what a device on battery waits
	// with (RFC 8030, section 5.3). Empty means normal.
	Urgency string
	// Trusted are hosts, names or IP addresses as in the endpoint, whose addresses need not
	// be public: a push service of one's own, and servers of tests.
	Trusted []string
	// Timeout bounds one Send, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections to one push service; others wait for their turn
	// within their Timeout. Zero means 10.
	MaxConns int
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

const provider = "webpush"

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Capable = (*Channel)(nil)
)

// Channel sends notifications to browsers. It is safe for several goroutines. Close it
// when nothing sends any more.
type Channel struct {
	key, urgency string
	dialer       safedial.Dialer
	client       *rest.Client
	sender       sender
}

// New returns a channel that signs with the private key; contact is where push services
// reach the sender: "mailto:…" or "https://…". An error lists everything that cannot be
// used, and never holds the key.
func New(privateKey, contact string, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options))
	var f rest.Faults
	s := newSender(privateKey, contact, &f)
	f.Add(!slices.Contains([]string{"", "very-low", "low", "normal", "high"}, o.Urgency), "Urgency is not very-low, low, normal or high")
	d := safedial.Dialer{Trusted: o.Trusted}
	ro := rest.Options{Provider: provider, Timeout: o.Timeout, MaxConns: o.MaxConns, TLS: o.TLSConfig, Dial: d.DialContext}
	ro.Check(&f)
	if err := f.Err(provider); err != nil {
		return nil, err
	}
	return &Channel{key: cmp.Or(o.Key, "push:webpush"), urgency: o.Urgency, dialer: d, client: rest.NewClient(ro), sender: s}, nil
}

// Key returns "push:webpush", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// PublicKey is the applicationServerKey of the page that subscribes, in base64url.
func (c *Channel) PublicKey() string { return c.sender.public }

// Capabilities are collapse keys and times to live.
func (c *Channel) Capabilities() channel.Capabilities { return channel.Capabilities{Push: true} }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send encrypts m's Subject and Text for the subscription in m.To and hands them to its
// push service. The receipt is empty. The package documentation says what the classes of
// its errors mean; they hold nothing of the subscription. HTML is not sent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	to, text, err := c.build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	body, err := to.encrypt(text)
	if err != nil {
		return channel.Receipt{}, err
	}
	header, err := c.header(m, to)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: to.endpoint, Header: header, ContentType: "application/octet-stream", Body: body, StatusOnly: true})
	if err != nil {
		return channel.Receipt{}, rest.OfReceiver(provider, err)
	}
	return channel.Receipt{}, outcome(answer)
}

// outcome judges by the status (RFC 8030, sections 5, 7.3 and 8.4; RFC 8292, section 4.2).
func outcome(a *rest.Answer) error {
	switch {
	case a.Status/100 == 2:
		return nil
	case a.Status == http.StatusNotFound, a.Status == http.StatusGone:
		return a.Permanent("").Suppressing(channel.HardBounce)
	case a.Status == http.StatusRequestEntityTooLarge:
		return a.Permanent("").Blame(channel.FaultMessage)
	case a.Status == http.StatusForbidden:
		return a.Permanent("").Blame(channel.FaultAddress)
	}
	return a.Refusal("").Blame(channel.FaultAddress)
}

// notification is what showNotification of a service worker takes.
type notification struct {
	Title string            `json:"title"`
	Body  string            `json:"body,omitempty"`
	Tag   string            `json:"tag,omitempty"`
	Data  map[string]string `json:"data"`
}

const (
	idField = "belfry_message"
	maxLife = 28 * 24 * time.Hour // which no push service exceeds by much
)

// build makes the content of m and says for whom, or with a Permanent error why it cannot.
func (c *Channel) build(m channel.Message) (subscription, []byte, error) {
	if err := rest.CheckPush(provider, m); err != nil {
		return subscription{}, nil, err
	}
	to, ok := parse(m.To)
	if !ok || !c.dialer.Callable(to.endpoint) {
		return subscription{}, nil, rest.Unsendable(provider, "address", "recipient is not a subscription of a browser").Blame(channel.FaultAddress)
	}
	data := map[string]string{}
	maps.Copy(data, m.Metadata)
	data[idField] = m.ID
	text, err := json.Marshal(notification{m.Subject, m.Text, m.CollapseKey, data})
	if err != nil { // texts only
		return subscription{}, nil, channel.Permanent("json", err)
	}
	if len(text) > maxText {
		return subscription{}, nil, rest.Unsendable(provider, "size", "title, body and data have more than 3993 bytes as JSON")
	}
	return to, text, nil
}

func (c *Channel) header(m channel.Message, to subscription) (http.Header, error) {
	proof, err := c.sender.proof(to.endpoint, m.On)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	h.Set("Authorization", proof)
	h.Set("Content-Encoding", "aes128gcm")
	h.Set("TTL", strconv.Itoa(int(rest.Lifetime(m, maxLife).Seconds())))
	if c.urgency != "" {
		h.Set("Urgency", c.urgency)
	}
	if m.CollapseKey != "" {
		h.Set("Topic", rest.Topic(m.CollapseKey))
	}
	return h, nil
}
