package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// UnsubscribeOptions have messages carry a link by which their recipient can
// unsubscribe with one click (RFC 8058). notifyhttp.Unsubscribe serves it.
type UnsubscribeOptions struct {
	// URL is where the handler is mounted: "https://example.com/unsubscribe". The
	// token is appended as one more element of the path. Only https is taken, since mail
	// programs follow no other (RFC 8058).
	URL string
	// Key signs the tokens: 32 random bytes, the same in every process. With
	// another key the links of messages that went out are void.
	Key []byte
}

// ErrUnsubscribeToken is a link that is none: malformed, forged, or of a message
// that is not known any more.
var ErrUnsubscribeToken = errors.New("notify: the unsubscribe link is not valid")

// check panics on options that no program can mean.
func (o *UnsubscribeOptions) check() {
	if o == nil {
		return
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(o.URL, "\r\n<> ") {
		panic("notify: New: Options.Unsubscribe.URL is no https address without a query")
	}
	if len(o.Key) < 16 {
		panic("notify: New: Options.Unsubscribe.Key needs 32 random bytes")
	}
}

// unsubscribeURL is the link of a message; of a mandatory type there is none, since
// nobody can unsubscribe from it.
func (n *Notifier) unsubscribeURL(m *OutgoingMessage) string {
	o := n.options.Unsubscribe
	if o == nil || m.Mandatory || n.registry.lookup(m.NotificationType).Mandatory {
		return ""
	}
	return strings.TrimSuffix(o.URL, "/") + "/" + url.PathEscape(m.MessageID) + "." + o.sign(m)
}

// sign makes the part of a token that nobody else can make. It covers all that
// unsubscribing depends on.
func (o *UnsubscribeOptions) sign(m *OutgoingMessage) string {
	mac := hmac.New(sha256.New, o.Key)
	mac.Write(mustJSON([]string{"belfry-unsubscribe-1", string(m.Scope), m.MessageID, m.RecipientRef, m.RecipientHash, m.Method, m.NotificationType}))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckUnsubscribe looks whether a token, as the links have it, is valid. It changes
// nothing, since mail scanners open links. The error is [ErrUnsubscribeToken], or
// that of the store.
func (n *Notifier) CheckUnsubscribe(ctx context.Context, token string) error {
	_, err := n.tokenOf(ctx, token)
	return err
}

// Unsubscribe notes that the recipient of the token's message wants no more of its
// type by its method; with all, nothing by that method but what is mandatory, as a
// one-click unsubscribe does. It may be repeated. The error is that of
// CheckUnsubscribe.
func (n *Notifier) Unsubscribe(ctx context.Context, token string, all bool) error {
	m, err := n.tokenOf(ctx, token)
	if err != nil {
		return err
	}
	a := Attempt{RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash}
	row := preferenceRow{
		Record:       storage.Record{Scope: m.Scope},
		RecipientRef: m.RecipientRef, NotificationType: m.NotificationType, Method: m.Method,
		OptedOut: true, ChangedOn: storage.Now(n.store), MessageID: m.MessageID,
	}
	if all {
		row.NotificationType = ""
	}
	row.Key = preferenceKey(a.recipient(), row.Method, row.NotificationType)
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		row := row // the transaction may run again
		return savePreferences(ctx, tx, &row)
	})
}

// tokenOf is the message of a valid token.
func (n *Notifier) tokenOf(ctx context.Context, token string) (*OutgoingMessage, error) {
	if n.options.Unsubscribe == nil {
		return nil, errors.New("notify: Options.Unsubscribe is not set")
	}
	dot := strings.LastIndexByte(token, '.')
	if dot < 1 || len(token) > 400 || strings.ContainsRune(token, 0) {
		return nil, ErrUnsubscribeToken
	}
	m, err := n.messageByID(ctx, strings.ToValidUTF8(token[:dot], ""))
	if err != nil {
		return nil, fmt.Errorf("notify: unsubscribe: %w", err)
	}
	if m == nil || !hmac.Equal([]byte(n.options.Unsubscribe.sign(m)), []byte(token[dot+1:])) {
		return nil, ErrUnsubscribeToken
	}
	return m, nil
}

// messageByID finds a message by its id, which cannot be guessed; nil: there is
// none.
func (n *Notifier) messageByID(ctx context.Context, id string) (m *OutgoingMessage, err error) {
	err = n.inTx(ctx, nil, func(tx storage.Tx) error {
		found, err := messagesByID(ctx, tx, []string{id})
		m = found[id]
		return err
	})
	return m, err
}
