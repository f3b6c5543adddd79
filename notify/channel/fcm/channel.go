package fcm

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/jws"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel; nil means all defaults.
type Options struct {
	// Key is the key of the channel; empty means "push:fcm".
	Key string
	// BaseURL is the API's address; empty means "https://fcm.googleapis.com". Where access
	// tokens are asked for says the service account.
	BaseURL string
	// Timeout bounds one request, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the Sends at work; others wait for
	// their turn within their Timeout. Zero means 10.
	MaxConns int
	// Proxy is an HTTP proxy; nil means none: that of the environment is not used.
	Proxy *url.URL
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

const provider = "fcm"

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Bounded = (*Channel)(nil)
	_ channel.Capable = (*Channel)(nil)
)

// Channel sends notifications through Firebase. It is safe for several goroutines. Close
// it when nothing sends any more.
type Channel struct {
	key, url string
	client   *rest.Client
	tokens   *tokens
}

// serviceAccount is the file that Google's console makes, as far as it is read.
type serviceAccount struct {
	Project  string `json:"project_id"`
	Email    string `json:"client_email"`
	KeyID    string `json:"private_key_id"`
	Key      string `json:"private_key"`
	TokenURI string `json:"token_uri"`
}

var project = regexp.MustCompile(`^[a-z][a-z0-9-]{4,40}$`)

// New returns a channel that sends as the service account, which is the JSON file of its
// key. It does not connect yet. An error lists everything that cannot be used, and holds
// nothing of the file.
func New(account []byte, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options))
	var f rest.Faults
	var a serviceAccount
	f.Add(json.Unmarshal(account, &a) != nil, "account is not JSON")
	f.Add(!project.MatchString(a.Project), "account has no project_id")
	f.Add(a.Email == "", "account has no client_email")
	sign, err := jws.Parse([]byte(a.Key), a.KeyID)
	if err != nil {
		f.Add(true, "account's private_key: "+err.Error())
	}
	at := f.BaseURL("account's token_uri", cmp.Or(a.TokenURI, "https://oauth2.googleapis.com/token"))
	base := f.BaseURL("BaseURL", cmp.Or(o.BaseURL, "https://fcm.googleapis.com"))
	ro := rest.Options{Provider: provider, Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
	ro.Check(&f)
	if err := f.Err(provider); err != nil {
		return nil, err
	}
	client := rest.NewClient(ro)
	return &Channel{key: cmp.Or(o.Key, "push:fcm"), url: base + "/v1/projects/" + a.Project + "/messages:send", client: client,
		tokens: newTokens(client, at, a.Email, sign)}, nil
}

// Key returns "push:fcm", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are collapse keys and times to live.
func (c *Channel) Capabilities() channel.Capabilities { return channel.Capabilities{Push: true} }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}

// Send sends m's Subject and Text and returns Firebase's name of the message as the
// receipt. The package documentation says what the classes of its errors mean. HTML is
// not sent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	token, err := c.tokens.get(ctx, m.On)
	if err != nil {
		return channel.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json", Body: body,
		Header: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		return channel.Receipt{}, err
	}
	if answer.Status == http.StatusUnauthorized {
		c.tokens.forget(ctx, token)
	}
	return outcome(answer)
}

func outcome(a *rest.Answer) (channel.Receipt, error) {
	var s said
	err := a.JSON(&s)
	if a.Status != http.StatusOK {
		return channel.Receipt{}, refusal(a, s)
	}
	id := rest.ProviderID(string(s.Name))
	if err != nil || id == "" {
		return channel.Receipt{}, a.Unknown("no-name")
	}
	return channel.Receipt{ID: id}, nil
}

// said is an answer, as far as it is read.
type said struct {
	Name  rest.Text `json:"name"`
	Error struct {
		Message string `json:"message"`
		Status  string `json:"status"`
		Details []struct {
			Code string `json:"errorCode"` // of an FcmError
		} `json:"details"`
	} `json:"error"`
}

// code is Firebase's own, or that of Google's APIs.
func (s said) code() string {
	for _, d := range s.Error.Details {
		if d.Code != "" {
			return d.Code
		}
	}
	return s.Error.Status
}

// refusal judges by Firebase's code; its messages are for people, but for one.
func refusal(a *rest.Answer, s said) *channel.Error {
	switch code := s.code(); code {
	case "UNREGISTERED":
		return a.Permanent(code).Suppressing(channel.HardBounce)
	case "SENDER_ID_MISMATCH":
		return a.Permanent(code).Blame(channel.FaultAddress)
	case "INVALID_ARGUMENT":
		if strings.Contains(s.Error.Message, "registration token") {
			return a.Permanent(code).Blame(channel.FaultAddress)
		}
		return a.Permanent(code).Blame(channel.FaultMessage)
	case "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED":
		return a.Transient(code)
	case "THIRD_PARTY_AUTH_ERROR", "NOT_FOUND":
		return a.Closed(code)
	default:
		return a.Refusal(code)
	}
}

// These are the body of a request, as far as it is used.
type (
	request struct {
		Message push `json:"message"`
	}
	push struct {
		Token        string            `json:"token"`
		Notification notification      `json:"notification"`
		Data         map[string]string `json:"data"`
		Android      android           `json:"android"`
		APNs         headers           `json:"apns"`
		Webpush      headers           `json:"webpush"`
	}
	notification struct {
		Title string `json:"title,omitempty"`
		Body  string `json:"body,omitempty"`
	}
	android struct {
		CollapseKey string `json:"collapse_key,omitempty"`
		TTL         string `json:"ttl"`
	}
	headers struct {
		Headers map[string]string `json:"headers"`
	}
)

const (
	idField = "belfry_message"
	maxSize = 4096                // bytes of a notification and its data
	maxLife = 28 * 24 * time.Hour // for which Firebase keeps a message
)

// build makes the request of m, or says with a Permanent error why it cannot.
func build(m channel.Message) ([]byte, error) {
	if err := rest.CheckPush(provider, m); err != nil {
		return nil, err
	}
	data := map[string]string{}
	maps.Copy(data, m.Metadata)
	data[idField] = m.ID
	size := len(m.Subject) + len(m.Text)
	for name, value := range data {
		size += len(name) + len(value)
	}
	if size > maxSize {
		return nil, rest.Unsendable(provider, "size", "title, body and data have more than 4096 bytes")
	}
	life := rest.Lifetime(m, maxLife)
	seconds, until := strconv.Itoa(int(life.Seconds())), strconv.FormatInt(m.On.Add(life).Unix(), 10)
	r := request{push{
		Token: m.To, Notification: notification{m.Subject, m.Text}, Data: data,
		Android: android{CollapseKey: m.CollapseKey, TTL: seconds + "s"},
		APNs:    headers{map[string]string{"apns-expiration": until}},
		Webpush: headers{map[string]string{"TTL": seconds}},
	}}
	if m.CollapseKey != "" {
		r.Message.APNs.Headers["apns-collapse-id"] = m.CollapseKey
		r.Message.Webpush.Headers["Topic"] = rest.Topic(m.CollapseKey)
	}
	body, err := json.Marshal(r)
	if err != nil { // texts only
		return nil, channel.Permanent("json", err)
	}
	return body, nil
}
