package twilio

import (
	"crypto/hmac"
	"crypto/sha1" // what Twilio signs with; an HMAC needs no collision resistance
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ channel.Webhook = (*Webhook)(nil)

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

const provider = "twilio"

// Provider returns "twilio".
func (w *Webhook) Provider() string { return provider }

// Events verifies the signature over r.URL, which must be what Twilio has called
// with its query, and the parameters of the form or the hash of the JSON. Twilio
// signs no time, and gives an event no id: it is made of the message's SID and
// its status, so that a replay is known as a repetition.
func (w *Webhook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
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

func (w *Webhook) form(r channel.WebhookRequest, query url.Values) ([]channel.StatusEvent, error) {
	params, err := url.ParseQuery(string(r.Body))
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" || err != nil {
		return nil, rest.Refused("twilio", "body is not a form")
	}
	if !w.signed(r, params) {
		return nil, errSignature
	}
	for _, name := range []string{"MessageSid", "MessageStatus", "ErrorCode", "From", "Body", "OptOutType", "SmsStatus"} {
		if len(params[name]) > 1 {
			return nil, rest.Refused("twilio", name+" is there twice")
		}
	}
	if e, ok := returned(params); ok {
		return []channel.StatusEvent{e}, nil
	}
	s := status{SID: rest.Text(params.Get("MessageSid")), Status: rest.Text(params.Get("MessageStatus")), Code: rest.Text(params.Get("ErrorCode"))}
	return s.events(query.Get(idParam)), nil
}

func (w *Webhook) json(r channel.WebhookRequest, query url.Values, hash string) ([]channel.StatusEvent, error) {
	if !w.signed(r, nil) || !hashes(r.Body, hash) {
		return nil, errSignature
	}
	var s status
	if err := rest.DecodeCallback("twilio", r.Body, &s); err != nil {
		return nil, err
	}
	return s.events(query.Get(idParam)), nil
}

var errSignature = rest.Refused("twilio", "signature is missing or wrong")

func signer(token string) func([]byte) string {
	return func(text []byte) string {
		mac := hmac.New(sha1.New, []byte(token))
		_, _ = mac.Write(text) // a hash takes everything
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
}

// signed verifies X-Twilio-Signature: over the URL as it was called, and each
// parameter's name and value, sorted (Twilio documentation, "Webhooks security").
// Whether
// the URL has its port in it, Twilio does not promise, so both are tried.
func (w *Webhook) signed(r channel.WebhookRequest, params url.Values) bool {
	given := []byte(r.Header.Get("X-Twilio-Signature"))
	tail := joined(params)
	good := false
	for _, address := range spellings(r.URL) {
		for _, sign := range w.tokens {
			good = hmac.Equal([]byte(sign([]byte(address+tail))), given) || good
		}
	}
	return good
}

// joined is each name with each of its values, sorted, without anything between.
func joined(params url.Values) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(params)) {
		values := slices.Sorted(slices.Values(params[name]))
		for _, value := range slices.Compact(values) {
			b.WriteString(name + value)
		}
	}
	return b.String()
}

// spellings are the URL as it is, and without its port or with the usual one.
func spellings(address string) []string {
	scheme, after, found := strings.Cut(address, "://")
	port := map[string]string{"https": ":443", "http": ":80"}[scheme]
	if !found || port == "" {
		return []string{address}
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	host, path := after[:end], after[end:]
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexAny(host, "]@") {
		return []string{address, scheme + "://" + host[:colon] + path}
	}
	return []string{address, scheme + "://" + host + port + path}
}

// hashes compares the SHA-256 of a JSON body with what the signed URL says.
func hashes(body []byte, want string) bool {
	sum := sha256.Sum256(body)
	return hmac.Equal([]byte(hex.EncodeToString(sum[:])), []byte(strings.ToLower(want)))
}

// comesBack are the words of a text by which its sender takes STOP back (Twilio
// documentation, "Twilio support for opt-out keywords").
var comesBack = map[string]bool{"START": true, "YES": true, "UNSTOP": true}

// returned reads an incoming message by which a person takes STOP back. Where the account
// has words of its own ("Advanced Opt-Out") Twilio says what it took the text for.
func returned(params url.Values) (e channel.StatusEvent, ok bool) {
	sid, from, as := params.Get("MessageSid"), params.Get("From"), params.Get("OptOutType")
	method, number := "sms", from
	if n, is := strings.CutPrefix(from, "whatsapp:"); is {
		method, number = "whatsapp", n
	}
	word := strings.ToUpper(strings.TrimSpace(params.Get("Body")))
	if !messageSID.MatchString(sid) || params.Get("SmsStatus") != "received" || number == "" || as != "START" && (as != "" || !comesBack[word]) {
		return e, false
	}
	return channel.StatusEvent{
		Provider: provider, EventID: sid + ":returned", Kind: channel.KindResubscribed, Method: method, Address: channel.PrivateAddress(number),
	}, true
}

// idParam is the query of the callback's URL in which the message id travels.
const idParam = "belfry_message"

// status is what a callback says (Twilio documentation, "Track the Message Status
// of Outbound Messages").
type status struct {
	SID    rest.Text `json:"MessageSid"`
	Status rest.Text `json:"MessageStatus"`
	Code   rest.Text `json:"ErrorCode"`
}

// kinds leaves out what is about incoming messages.
var kinds = map[rest.Text]channel.StatusKind{
	"accepted":    channel.KindAccepted,
	"scheduled":   channel.KindAccepted,
	"queued":      channel.KindAccepted,
	"sending":     channel.KindAccepted,
	"sent":        channel.KindAccepted, // the carrier has it
	"delivered":   channel.KindDelivered,
	"read":        channel.KindOpened,
	"undelivered": channel.KindFailed,
	"failed":      channel.KindFailed,
	"canceled":    channel.KindFailed,
}

// facts are the codes of a failure that say something about the number too.
var facts = map[rest.Text]channel.StatusKind{
	"21610": channel.KindUnsubscribed, // the recipient has sent STOP
	"30005": channel.KindBounced,      // the number does not exist, or no more
}

// events are those of s: none if it is not about a message that was sent.
func (s status) events(id string) []channel.StatusEvent {
	sid, kind := string(s.SID), kinds[s.Status]
	if !messageSID.MatchString(sid) || kind == "" {
		return nil
	}
	e := channel.StatusEvent{Provider: "twilio", EventID: sid + ":" + string(s.Status), Kind: kind,
		MessageID: rest.MessageID(id), ProviderMessageID: sid}
	if kind != channel.KindFailed {
		return []channel.StatusEvent{e}
	}
	e.Code = rest.Code(string(s.Code))
	fact := facts[s.Code]
	if fact == "" {
		return []channel.StatusEvent{e}
	}
	more := e
	more.EventID += ":" + e.Code
	more.Kind, more.Lasting = fact, fact == channel.KindBounced
	return []channel.StatusEvent{e, more}
}
