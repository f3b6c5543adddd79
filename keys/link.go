package keys

import "encoding/base32"

// linkAlphabet is that of RFC 4648 in lower case, which needs no escape in a URL
// and can be read out.
var linkAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// linkKeyMessage is never a public id.
const linkKeyMessage = "belfry-link-key-1"

// LinkTokenLen is the length of every token of a [LinkKey].
const LinkTokenLen = 8 + 32

// LinkKey makes the secret part of a survey's links. Whoever has it can make every
// link, so it is 32 random bytes. The zero value is no key.
type LinkKey struct {
	id     string
	secret []byte
}

// NewLinkKey is the key with that secret, which it keeps.
func NewLinkKey(secret []byte) LinkKey {
	return LinkKey{id: linkAlphabet.EncodeToString(authenticate(secret, []byte(linkKeyMessage))[:5]), secret: secret}
}

// ID tells one key from another without showing it: the first 5 bytes of
// HMAC-SHA-256 of a constant, in 8 digits of lower-case base32. That of the zero
// value is empty.
func (k LinkKey) ID() string { return k.id }

// Token opens the form of the instance with that public id: [LinkKey.ID], and
// behind it the first 20 bytes of HMAC-SHA-256 of the public id under the key, in
// 32 digits of lower-case base32. So a reminder carries the same link as the first
// send, and nobody need store it.
func (k LinkKey) Token(publicID string) string {
	return k.id + linkAlphabet.EncodeToString(authenticate(k.secret, []byte(publicID))[:20])
}
