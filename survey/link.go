package survey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

var errNoSurveyURL = errors.New("survey: Options.SurveyURL is not set")

// Link is the address of the form of an instance, with its secret token, for a host
// that sends it by a way of its own. It is the same as in every send. Everyone who has
// it can answer for the customer, so it belongs in no log. The error wraps
// storage.ErrNotFound where scope has no such instance or it was deleted, and
// [ErrLinkKey].
func (s *Service) Link(ctx context.Context, scope Scope, publicID string) (string, error) {
	var row *instanceRow
	err := s.read(ctx, func(from driver.Reader) (err error) {
		row, err = readInstance(ctx, from, scope, publicID)
		return err
	})
	if err == nil && !row.DeletedOn.IsZero() {
		err = storage.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("survey: Link of %s: %w", publicID, err)
	}
	return s.linkOf(ctx, row)
}

// linkOf is the address of the form of an instance. It is not called inside a
// transaction other than the bound one.
func (s *core) linkOf(ctx context.Context, row *instanceRow) (string, error) {
	if s.options.SurveyURL == "" {
		return "", errNoSurveyURL
	}
	token, err := s.tokenOf(ctx, row)
	return surveyURL(s.options.SurveyURL, token, row.PublicID), err
}

// tokenOf is the secret of the link of an instance.
func (s *core) tokenOf(ctx context.Context, row *instanceRow) (string, error) {
	key, err := s.linkKey(ctx, row.Scope, row.LinkKey)
	if err != nil {
		return "", fmt.Errorf("survey: link of %s: %w", row.PublicID, err)
	}
	token := key.Token(row.PublicID)
	if linkHash(token) != row.LinkHash {
		return "", fmt.Errorf("survey: link of %s: %w: %s is another key now", row.PublicID, ErrLinkKey, row.LinkKey)
	}
	return token, nil
}

func surveyURL(template, token, publicID string) string {
	return strings.NewReplacer("{token}", token, "{publicId}", publicID).Replace(template)
}

// linkWith is the address of the form, and of the page to unsubscribe, with a token or what
// stands in for it.
func (s *core) linkWith(r *instanceRow, token string) (link, leave string) {
	return surveyURL(s.options.SurveyURL, token, r.PublicID), s.unsubscribeURL(r, token)
}

// standIn stands for the token of a link in the stored text of its messages. It has the length
// and the letters of a token, so that no escaping changes it, and is of no use.
func standIn(publicID string) string {
	sum := sha256.Sum256([]byte("belfry-link-stand-in-1\x1f" + publicID))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:keys.LinkTokenLen]
}

// checkSurveyURL refuses a template that gives no address of a form.
func checkSurveyURL(template string) error {
	if !strings.Contains(template, "{token}") {
		return errors.New("it does not have {token}")
	}
	filled := surveyURL(template, strings.Repeat("a", keys.LinkTokenLen), "8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00")
	u, err := url.Parse(filled)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return errors.New("it is not an absolute http or https address")
	case strings.ContainsAny(filled, "{} \t"):
		return errors.New("it holds a space, or a brace that is not part of {token} or {publicId}")
	}
	return nil
}

// ErrLinkKey says that the key by which an instance's link was made is missing, so the
// link cannot be made again. Give the key in Options.OldLinkKeys. A link that was sent
// is still found by its hash.
var ErrLinkKey = errors.New("survey: the key of the link is missing: give it in Options.OldLinkKeys")

// minLinkKey is how many bytes a host's key has at least.
const minLinkKey = 32

// linkKeyRow is the key that the links of one tenant are made with, where the host
// keeps none of its own. It is never due.
type linkKeyRow struct {
	storage.Record
	Secret    []byte    `db:"secret,fixed,secret"`
	CreatedOn time.Time `db:"created_on,fixed"`
}

var linkKeys = driver.Define[linkKeyRow]("survey_link_key").Grows(driver.Bounded).
	Kept(driver.Always, "one a key")

// storedLinkKey is the key of a tenant's only row, so that two processes that make
// it at once make one.
const storedLinkKey = "links"

// linkKeyring are the keys that this process knows. Bound copies of a service
// share it.
type linkKeyring struct {
	own   *keys.LinkKey           // the host's; nil: the store's is used
	given map[string]keys.LinkKey // the host's by id, old ones too

	mu     sync.Mutex
	stored map[Scope]keys.LinkKey // as a transaction that is over has read them
}

// newLinkKeyring panics on keys that no program can mean.
func newLinkKeyring(o *Options) *linkKeyring {
	ring := &linkKeyring{given: map[string]keys.LinkKey{}, stored: map[Scope]keys.LinkKey{}}
	for i, secret := range append([][]byte{o.LinkKey}, o.OldLinkKeys...) {
		if i == 0 && len(secret) == 0 {
			continue
		}
		if len(secret) < minLinkKey {
			panic(fmt.Sprintf("survey: New: a link key of %d bytes, fewer than %d", len(secret), minLinkKey))
		}
		key := keys.NewLinkKey(bytes.Clone(secret))
		ring.given[key.ID()] = key
		if i == 0 {
			ring.own = &key
		}
	}
	return ring
}

// linkKeyFor is the key for new instances of a tenant. It is made if there is none.
func (s *core) linkKeyFor(ctx context.Context, scope Scope) (keys.LinkKey, error) {
	if s.links.own != nil {
		return *s.links.own, nil
	}
	return s.storedLinkKey(ctx, scope, true)
}

// storedLinkKey reads a tenant's key, and makes it if asked to; without one it
// returns the zero value. What a bound transaction reads is not remembered: it
// may be rolled back.
func (s *core) storedLinkKey(ctx context.Context, scope Scope, create bool) (keys.LinkKey, error) {
	s.links.mu.Lock()
	known, ok := s.links.stored[scope]
	s.links.mu.Unlock()
	if ok {
		return known, nil
	}
	row, err := s.readLinkKey(ctx, scope)
	switch missing := errors.Is(err, storage.ErrNotFound); {
	case missing && !create:
		return known, nil
	case missing:
		row, err = s.makeLinkKey(ctx, scope)
	}
	if err != nil {
		return known, err
	}
	known = keys.NewLinkKey(row.Secret)
	if s.tx == nil {
		s.links.mu.Lock()
		s.links.stored[scope] = known
		s.links.mu.Unlock()
	}
	return known, nil
}

func (s *core) readLinkKey(ctx context.Context, scope Scope) (row *linkKeyRow, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		row, err = linkKeys.Get(ctx, from, scope, storedLinkKey)
		return err
	})
	return row, err
}

// makeLinkKey stores a key unless another is quicker, and returns the one that is
// stored.
func (s *core) makeLinkKey(ctx context.Context, scope Scope) (row *linkKeyRow, err error) {
	secret := make([]byte, minLinkKey)
	if _, err := io.ReadFull(s.store.Rand(), secret); err != nil {
		return nil, fmt.Errorf("no randomness for a link key: %w", err)
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		want := &linkKeyRow{Record: storage.Record{Scope: scope, Key: storedLinkKey}, Secret: secret, CreatedOn: driver.Now(s.store)}
		got, err := linkKeys.Ensure(ctx, tx, func(_, _ *linkKeyRow) (storage.Outcome, bool) { return storage.Unchanged, false }, want)
		if err == nil {
			row = got[0].Row
		}
		return err
	})
	return row, err
}

// linkKey is the key with that id.
func (s *core) linkKey(ctx context.Context, scope Scope, id string) (keys.LinkKey, error) {
	if key, ok := s.links.given[id]; ok {
		return key, nil
	}
	stored, err := s.storedLinkKey(ctx, scope, false)
	if err == nil && stored.ID() != id {
		err = fmt.Errorf("%w: %s", ErrLinkKey, id)
	}
	return stored, err
}

// linkHash is what a token is stored and looked up by.
func linkHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
