package infobip

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ notify.Webhook = (*Webhook)(nil)

// Webhook reads Infobip's delivery and seen reports. The zero value has no
// credentials and refuses all of them.
type Webhook struct {
	proofs []func(notify.WebhookRequest) bool // functions, so that no printed Webhook shows the credentials
}

// WebhookOptions are the authentication settings of the account's subscriptions
// (Infobip documentation, "Subscriptions Management"): BASIC, HMAC, or both, in
// which case a report must hold both proofs.
type WebhookOptions struct {
	// Username and Password are those of the type BASIC.
	Username, Password string
	// HMACKey is the secret key of the type HMAC, with SHA-256 over the raw body.
	HMACKey string
	// HMACHeader is the header in which the subscription sends the signature, in
	// hex or base64, with or without "sha256=" before it. Required with HMACKey.
	HMACHeader string
}

// NewWebhook returns a webhook for reports that prove to come from Infobip. An
// error lists every setting that cannot be used, and never holds a secret.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	w := new(Webhook)
	var f rest.Faults
	f.Add(o.Password == "" && o.HMACKey == "", "Username and Password or HMACKey and HMACHeader are required")
	f.Add((o.Username == "") != (o.Password == ""), "only one of Username and Password is set")
	f.Add((o.HMACHeader == "") != (o.HMACKey == ""), "only one of HMACKey and HMACHeader is set")
	if err := f.Err("infobip"); err != nil {
		return nil, err
	}
	if o.Password != "" {
		w.proofs = append(w.proofs, basic(o.Username, o.Password))
	}
	if o.HMACKey != "" {
		w.proofs = append(w.proofs, signed(o.HMACKey, o.HMACHeader))
	}
	return w, nil
}

// Provider returns "infobip".
func (w *Webhook) Provider() string { return "infobip" }

// Events proves the report and reads it. Infobip gives an event no id, and its
// reports no signed time: the id is made of the message's and its status, so that
// a replay is known as a repetition.
func (w *Webhook) Events(r notify.WebhookRequest) ([]notify.StatusEvent, error) {
	switch {
	case r.Method != http.MethodPost:
		return nil, rest.Refused("infobip", "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return nil, rest.Refused("infobip", "body is too long")
	case len(w.proofs) == 0:
		return nil, rest.Refused("infobip", "no credentials are configured")
	}
	for _, holds := range w.proofs {
		if !holds(r) {
			return nil, rest.Refused("infobip", "credentials or signature are missing or wrong")
		}
	}
	return read(r.Body)
}

func basic(username, password string) func(notify.WebhookRequest) bool {
	h := http.Header{}
	rest.Basic(username, password)(h)
	want := []byte(h.Get("Authorization"))
	return func(r notify.WebhookRequest) bool { return hmac.Equal([]byte(r.Header.Get("Authorization")), want) }
}

func signed(key, header string) func(notify.WebhookRequest) bool {
	return func(r notify.WebhookRequest) bool {
		mac := hmac.New(sha256.New, []byte(key))
		_, _ = mac.Write(r.Body) // a hash takes everything
		given, ok := signature(r.Header.Get(header))
		return ok && hmac.Equal(given, mac.Sum(nil))
	}
}

func signature(text string) ([]byte, bool) {
	text = strings.TrimPrefix(text, "sha256=")
	if sum, err := hex.DecodeString(text); err == nil {
		return sum, true
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	return sum, err == nil
}
