package notify

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Preference says whether a recipient wants messages of a type, or of a group of types,
// by a method. The most particular one that there is decides: type and method, the type
// by any method, group and method, the group by any method, the method for all types,
// everything. Without one messages are wanted, but for those of a [Group] with OptIn.
// A stop of support outranks all that the recipient has said; see [Contacts.Stop].
// Mandatory types pass all of them.
type Preference struct {
	Scope        Scope
	RecipientRef string // the host's id; required
	Type, Method string // empty: all of them
	Group        string // one of Options.Groups, for all its types; not beside a Type
	OptedOut     bool
	Since        time.Time // when it was last changed; set by the store
	// BySupport is a stop of support, of everything or of a Group: not what the recipient has
	// said. [Contacts.Stop] makes it, and SetPreferences refuses it.
	BySupport bool
}

// preferenceRow is a Preference as it is stored. Recipients of whom the host has no
// id are known by the hash of their address. It is never due.
type preferenceRow struct {
	storage.Record             // Key: recipient, method, type or group; or recipient, stop, group
	RecipientRef     string    `db:"recipient_ref,fixed,person"` // empty: known by a hash
	NotificationType string    `db:"notification_type,fixed,plain"`
	ConsentGroup     string    `db:"consent_group,fixed,plain"`
	Method           string    `db:"method,fixed,plain"`
	OptedOut         bool      `db:"opted_out"`
	ChangedOn        time.Time `db:"changed_on"`
	MessageID        string    `db:"message_id,plain"` // whose link said so; empty: the host, or support
}

var preferences = driver.Define[preferenceRow]("recipient_preference").Grows(driver.WithEntities).
	Kept(driver.Always, "without it a person who opted out would get messages again").Limit(8 << 10)

// preferenceKey is the key of a recipient's row. Empty means all of them.
func preferenceKey(recipient, method, notificationType, group string) string {
	if method != "" {
		method = ":" + storable.KeyPart(method)
	}
	about := "type"
	switch {
	case notificationType != "":
		about += ":" + storable.KeyPart(notificationType)
	case group != "":
		about = "group:" + storable.KeyPart(group)
	}
	return joined(recipient, "method"+method, about)
}

// recipientOf is Attempt.Recipient of one with a Ref.
func recipientOf(ref string) string { return "ref:" + storable.KeyPart(ref) }

// joined are parts of which each is fit for a key.
func joined(parts ...string) string { return strings.Join(parts, "\x1f") }

// stopKey is the key of a stop of support, of a group or of everything. It is among the
// recipient's rows, and is not the key of a preference.
func stopKey(recipient, group string) string {
	about := "type"
	if group != "" {
		about = "group:" + storable.KeyPart(group)
	}
	return joined(recipient, stopPart, about)
}

const stopPart = "stop"

// bySupport reports whether it is a stop of support.
func (p *preferenceRow) bySupport() bool {
	_, rest, _ := strings.Cut(p.Key, "\x1f")
	kind, _, _ := strings.Cut(rest, "\x1f")
	return kind == stopPart
}

// SetPreferences stores what recipients want, as their settings page says. The last
// word counts.
func (n Contacts) SetPreferences(ctx context.Context, want ...Preference) error {
	rows := make([]preferenceRow, len(want))
	for i, p := range want {
		row, err := p.row(driver.Now(n.store))
		if err != nil {
			return fmt.Errorf("notify: SetPreferences, argument %d: %w", i+1, err)
		}
		rows[i] = row
	}
	return n.inTx(ctx, nil, func(tx storage.Tx) error { return savePreferences(ctx, tx, copies(rows)...) })
}

func (p Preference) row(now time.Time) (preferenceRow, error) {
	switch {
	case p.RecipientRef == "":
		return preferenceRow{}, errors.New("RecipientRef is empty")
	case p.BySupport:
		return preferenceRow{}, errors.New("it is BySupport: use Stop or Allow")
	case p.Type != "" && p.Group != "":
		return preferenceRow{}, errors.New("it has a Type and a Group, and may have one of them")
	}
	return p.rowOf(recipientOf(p.RecipientRef), now), nil
}

// rowOf is the row of a person who is known by a name.
func (p Preference) rowOf(recipient string, now time.Time) preferenceRow {
	return preferenceRow{
		Record:       storage.Record{Scope: p.Scope, Key: preferenceKey(recipient, p.Method, p.Type, p.Group)},
		RecipientRef: p.RecipientRef, NotificationType: p.Type, ConsentGroup: p.Group, Method: p.Method, OptedOut: p.OptedOut, ChangedOn: now,
	}
}

// savePreferences makes rows what the wanted ones say.
func savePreferences(ctx context.Context, tx storage.Tx, want ...*preferenceRow) error {
	_, err := preferences.Ensure(ctx, tx, decided, want...)
	return err
}

// decided makes a row what the wanted one says.
func decided(stored, want *preferenceRow) (storage.Outcome, bool) {
	if stored.OptedOut == want.OptedOut {
		return storage.Unchanged, false
	}
	stored.OptedOut, stored.ChangedOn, stored.MessageID = want.OptedOut, want.ChangedOn, want.MessageID
	return storage.Updated, true
}

// optOut notes what a recipient wants no more: under the Ref, and under the Address, by which
// it is known where the host gives no Ref. It may be repeated. With another key than the
// database's the address is left out, and a recipient without a Ref is [ErrHashKey], since no
// gate would find what was noted.
func (n Contacts) optOut(ctx context.Context, tx storage.Tx, who owned.Leaver) error {
	p := Preference{Scope: who.Scope, Group: who.Group, Method: who.Method, OptedOut: true}
	if p.Group == "" {
		p.Type = who.Type
	}
	var rows []*preferenceRow
	note := func(ref, name string) {
		p.RecipientRef = ref
		row := p.rowOf(name, driver.Now(n.store))
		row.MessageID = who.MessageID
		rows = append(rows, &row)
	}
	if who.Ref != "" {
		note(who.Ref, recipientOf(who.Ref))
	}
	switch err := knownBy(ctx, tx, n.options.HashKey, who.Ref == ""); {
	case err == nil:
		note("", "hash:"+n.addressHash(who.Method, who.Address))
	case !errors.Is(err, ErrHashKey) || who.Ref == "":
		return err
	}
	return savePreferences(ctx, tx, rows...)
}

// Preferences lists what is known of a recipient's wishes, and the stops of support that are
// in force.
func (n Contacts) Preferences(ctx context.Context, scope Scope, recipientRef string) ([]Preference, error) {
	within, err := under(recipientOf(recipientRef))
	if err != nil {
		return nil, err
	}
	out, err := all(ctx, n.core, preferences, scope, within, (*preferenceRow).view)
	return slices.DeleteFunc(out, func(p Preference) bool { return p.BySupport && !p.OptedOut }), err
}

func (p *preferenceRow) view() Preference {
	return Preference{p.Scope, p.RecipientRef, p.NotificationType, p.Method, p.ConsentGroup, p.OptedOut, p.ChangedOn, p.bySupport()}
}

// unwanted gives for each attempt why stops and preferences let nothing through, or
// nothing, in one statement. Mandatory types go out.
func (n Contacts) unwanted(ctx context.Context, from driver.Reader, a []gate.Attempt) ([]string, error) {
	asked := make([][]driver.ScopedKey, len(a))
	var all []driver.ScopedKey
	for i := range a {
		if !a[i].Mandatory {
			asked[i] = n.wishes(&a[i])
			all = append(all, asked[i]...)
		}
	}
	out := make([]string, len(a))
	if len(all) == 0 {
		return out, nil
	}
	known, err := preferences.GetMany(ctx, from, all)
	for i := range a {
		if !a[i].Mandatory {
			out[i] = refused(known, asked[i], a[i].OptIn)
		}
	}
	return out, err
}

// stopsOf are where stops of support about an attempt would be. Those are of recipients with
// a Ref.
func stopsOf(a *gate.Attempt) (out []driver.ScopedKey) {
	if a.RecipientRef == "" {
		return nil
	}
	for _, group := range slices.Compact([]string{"", a.Group}) {
		out = append(out, driver.ScopedKey{Scope: a.Scope, Key: stopKey(a.Recipient(), group)})
	}
	return out
}

// wishes are where the stops and preferences about an attempt would be, what counts most
// first.
func (n Contacts) wishes(a *gate.Attempt) []driver.ScopedKey {
	return append(stopsOf(a), n.choices(a)...)
}

// choices are where the preferences about an attempt would be, the most particular first.
func (n Contacts) choices(a *gate.Attempt) (out []driver.ScopedKey) {
	who := n.namesOf(a)
	add := func(notificationType, group string) {
		for _, method := range [2]string{a.Method, ""} {
			for _, name := range who {
				out = append(out, driver.ScopedKey{Scope: a.Scope, Key: preferenceKey(name, method, notificationType, group)})
			}
		}
	}
	if a.NotificationType != "" {
		add(a.NotificationType, "")
	}
	if a.Group != "" {
		add("", a.Group)
	}
	add("", "")
	return out
}

// namesOf are those under which a recipient may be known. One without a Ref is known
// by hashes, which a rotation of the key changes.
func (n Contacts) namesOf(a *gate.Attempt) []string {
	names := []string{a.Recipient()}
	if a.RecipientRef != "" {
		return names
	}
	for _, hash := range n.addressHashes(a.Method, a.Address) {
		if name := "hash:" + hash; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// refused is why the stops and preferences that were asked for, what counts most first, let
// nothing through; empty: they do. What has to be asked for is not asked for by "all".
func refused(known map[driver.ScopedKey]*preferenceRow, asked []driver.ScopedKey, optIn bool) string {
	for _, at := range asked {
		switch p := known[at]; {
		case p == nil:
		case p.bySupport():
			if p.OptedOut {
				return reasons.StoppedBySupport
			}
		case p.OptedOut:
			return reasons.OptedOut
		case !optIn || p.NotificationType != "" || p.ConsentGroup != "":
			return ""
		}
	}
	if optIn {
		return reasons.NoConsent
	}
	return ""
}

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
		panic("notify: New: Options.Unsubscribe.URL is not an https address without a query")
	}
	if len(o.Key) < 16 {
		panic("notify: New: Options.Unsubscribe.Key needs 32 random bytes")
	}
}

// canLeave reports whether recipients can leave messages of a group, or of none: where there
// are groups, what has none is not an offer that a person could leave.
func (n *core) canLeave(group string) bool { return group != "" || len(n.options.Groups) == 0 }

// unsubscribeURL is the link of a message; of a mandatory type there is none, since
// a person cannot unsubscribe from it.
func (n Contacts) unsubscribeURL(m *messageRow) string {
	o := n.options.Unsubscribe
	if o == nil || m.Mandatory || n.registry.lookup(m.NotificationType).Mandatory || !n.canLeave(m.ConsentGroup) {
		return ""
	}
	return strings.TrimSuffix(o.URL, "/") + "/" + o.seal(m.MessageID) + "." + o.sign(m)
}

// block encrypts MessageIDs. One is 16 random bytes, which no other message has: as one
// block it is the same in each call of its message, and tells nothing.
func (o *UnsubscribeOptions) block() cipher.Block {
	key := hmac.New(sha256.New, o.Key)
	key.Write([]byte("belfry-unsubscribe-id-1"))
	block, err := aes.NewCipher(key.Sum(nil))
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	return block
}

// seal is the part of a token that stands for a MessageID, which callbacks know messages
// by, so that a link does not give its message away.
func (o *UnsubscribeOptions) seal(id string) string {
	var raw [aes.BlockSize]byte
	if n, err := hex.Decode(raw[:], []byte(id)[:min(len(id), 2*len(raw))]); err != nil || n != len(raw) {
		return ""
	}
	o.block().Encrypt(raw[:], raw[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// open is the MessageID that was sealed, or another one; empty: it is none.
func (o *UnsubscribeOptions) open(sealed string) string {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(raw) != aes.BlockSize {
		return ""
	}
	o.block().Decrypt(raw, raw)
	return hex.EncodeToString(raw)
}

// sign makes the part of a token that others cannot make. It covers all that
// unsubscribing depends on.
func (o *UnsubscribeOptions) sign(m *messageRow) string {
	mac := hmac.New(sha256.New, o.Key)
	mac.Write(mustJSON([]string{"belfry-unsubscribe-1", string(m.Scope), m.MessageID, m.RecipientRef, m.RecipientHash, m.Method, m.NotificationType, m.ConsentGroup}))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckUnsubscribe looks whether a token, as the links have it, is valid. It changes
// nothing, since mail scanners open links. The error is [ErrUnsubscribeToken], or
// that of the store.
func (n Contacts) CheckUnsubscribe(ctx context.Context, token string) error {
	_, err := n.tokenOf(ctx, token)
	return err
}

// tokenOf is the message of a valid token.
func (n Contacts) tokenOf(ctx context.Context, token string) (*messageRow, error) {
	if n.options.Unsubscribe == nil {
		return nil, errors.New("notify: Options.Unsubscribe is not set")
	}
	sealed, mac, _ := strings.Cut(token, ".")
	id := n.options.Unsubscribe.open(sealed)
	if id == "" {
		return nil, ErrUnsubscribeToken
	}
	m, err := n.messageByID(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("notify: unsubscribe: %w", err)
	}
	if m == nil || !hmac.Equal([]byte(n.options.Unsubscribe.sign(m)), []byte(mac)) {
		return nil, ErrUnsubscribeToken
	}
	return m, nil
}

// messageByID finds a message by its id, which cannot be guessed; nil: there is
// none.
func (n Contacts) messageByID(ctx context.Context, id string) (m *messageRow, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) error {
		found, err := messagesByID(ctx, from, []string{id})
		m = found[id]
		return err
	})
	return m, err
}
