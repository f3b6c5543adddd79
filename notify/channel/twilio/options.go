package twilio

import (
	"cmp"
	"crypto/tls"
	"net/url"
	"regexp"
	"time"

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
	// Proxy is an HTTP proxy; nil means none, whatever the environment says.
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
	e164       = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)
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
	if o.From != "" && !e164.MatchString(o.From) {
		f.Add(method == "whatsapp", "From is no number in E.164 form, such as +14155238886")
		named := senderID.MatchString(o.From) && letter.MatchString(o.From)
		f.Add(method == "sms" && !named && !shortCode.MatchString(o.From), "From is no number in E.164 form, short code or sender id")
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
