package twilio

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ notify.Webhook = (*Webhook)(nil)

// Webhook reads Twilio's status callbacks. The zero value has no token and
// refuses all of them.
type Webhook struct {
	tokens []func([]byte) string // signs; a function, so that no printed Webhook shows the token
}

// NewWebhook returns a webhook for callbacks signed under any of the auth tokens.
// Twilio signs with the account's primary auth token, never with an API key. More
// than one is for the time in which the token is replaced, or for several
// subaccounts.
func NewWebhook(authTokens ...string) (*Webhook, error) {
	if len(authTokens) == 0 {
		return nil, errors.New("twilio: an auth token is required")
	}
	w := new(Webhook)
	var f rest.Faults
	for i, token := range authTokens {
		f.Secret(fmt.Sprintf("auth token %d", i), token)
		w.tokens = append(w.tokens, signer(token))
	}
	if err := f.Err("twilio"); err != nil {
		return nil, err
	}
	return w, nil
}

// Provider returns "twilio".
func (w *Webhook) Provider() string { return "twilio" }

// Events verifies the signature over r.URL, which must be what Twilio has called
// with its query, and the parameters of the form or the hash of the JSON. Twilio
// signs no time, and gives an event no id: it is made of the message's SID and
// its status, so that a replay is known as a repetition.
func (w *Webhook) Events(r notify.WebhookRequest) ([]notify.StatusEvent, error) {
	if r.Method != http.MethodPost {
		return nil, rest.Refused("twilio", "method is not POST")
	}
	if len(r.Body) > rest.MaxCallback {
		return nil, rest.Refused("twilio", "body is too long")
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, rest.Refused("twilio", "URL cannot be read")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, rest.Refused("twilio", "query cannot be read")
	}
	if hash := query.Get("bodySHA256"); hash != "" {
		return w.json(r, query, hash)
	}
	return w.form(r, query)
}

func (w *Webhook) form(r notify.WebhookRequest, query url.Values) ([]notify.StatusEvent, error) {
	params, err := url.ParseQuery(string(r.Body))
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" || err != nil {
		return nil, rest.Refused("twilio", "body is no form")
	}
	if !w.signed(r, params) {
		return nil, errSignature
	}
	for _, name := range []string{"MessageSid", "MessageStatus", "ErrorCode"} {
		if len(params[name]) > 1 {
			return nil, rest.Refused("twilio", name+" is there twice")
		}
	}
	s := status{SID: rest.Text(params.Get("MessageSid")), Status: rest.Text(params.Get("MessageStatus")), Code: rest.Text(params.Get("ErrorCode"))}
	return s.events(query.Get(idParam)), nil
}

func (w *Webhook) json(r notify.WebhookRequest, query url.Values, hash string) ([]notify.StatusEvent, error) {
	if !w.signed(r, nil) || !hashes(r.Body, hash) {
		return nil, errSignature
	}
	var s status
	if err := rest.DecodeCallback("twilio", r.Body, &s); err != nil {
		return nil, err
	}
	return s.events(query.Get(idParam)), nil
}
