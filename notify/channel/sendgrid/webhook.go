package sendgrid

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ notify.Webhook = (*Webhook)(nil)

// The headers of a signed callback (Twilio SendGrid documentation, "Getting
// Started with the Event Webhook Security Features").
const (
	signatureHeader = "X-Twilio-Email-Event-Webhook-Signature"
	timestampHeader = "X-Twilio-Email-Event-Webhook-Timestamp"
)

// window is how far the signed time may be from now.
const window = 5 * time.Minute

// Webhook reads the callbacks of the Event Webhook. The zero value has no key
// and refuses all of them.
type Webhook struct {
	keys []*ecdsa.PublicKey
}

// NewWebhook returns a webhook for callbacks signed under any of the public
// keys, which SendGrid shows as "verification key". More than one is for the time
// in which a key is replaced, or for several subusers.
func NewWebhook(publicKeys ...string) (*Webhook, error) {
	if len(publicKeys) == 0 {
		return nil, errors.New("sendgrid: a verification key is required")
	}
	w := new(Webhook)
	for i, text := range publicKeys {
		key, err := publicKey(text)
		if err != nil {
			return nil, fmt.Errorf("sendgrid: verification key %d %w", i, err)
		}
		w.keys = append(w.keys, key)
	}
	return w, nil
}

func publicKey(text string) (*ecdsa.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok {
		return nil, errors.New("is no public key for ECDSA")
	}
	return key, nil
}

// Provider returns "sendgrid".
func (w *Webhook) Provider() string { return "sendgrid" }

// Events verifies the signature over time and body, and refuses a time that is
// more than five minutes from r.Now. An event repeats the id that SendGrid gave
// it; a bounce is two events, since the message has failed and its address too.
func (w *Webhook) Events(r notify.WebhookRequest) ([]notify.StatusEvent, error) {
	if err := w.verify(r); err != nil {
		return nil, err
	}
	return read(r.Body)
}

func (w *Webhook) verify(r notify.WebhookRequest) error {
	timestamp := r.Header.Get(timestampHeader)
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get(signatureHeader))
	switch {
	case r.Method != http.MethodPost:
		return rest.Refused("sendgrid", "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return rest.Refused("sendgrid", "body is too long")
	case err != nil || !w.signed(timestamp, r.Body, signature):
		return rest.Refused("sendgrid", "signature is missing or wrong")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Unix(seconds, 0).Sub(r.Now).Abs() > window {
		return rest.Refused("sendgrid", "signed more than five minutes from now")
	}
	return nil
}

func (w *Webhook) signed(timestamp string, body, signature []byte) bool {
	h := sha256.New()
	_, _ = h.Write([]byte(timestamp)) // a hash takes everything
	_, _ = h.Write(body)
	sum := h.Sum(nil)
	for _, key := range w.keys {
		if ecdsa.VerifyASN1(key, sum, signature) {
			return true
		}
	}
	return false
}
