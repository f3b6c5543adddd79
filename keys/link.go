package keys

import "encoding/base32"

// linkAlphabet is that of RFC 4648 in lower case, which needs no escape in a URL
// and can be read out.
var linkAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// linkKeyMessage is never a public id.
const linkKeyMessage = "belfry-link-key-1"

// LinkTokenLen is the length of every [LinkToken].
const LinkTokenLen = 8 + 32

// LinkKeyID tells one link key from another without showing it: the first 5 bytes
// of HMAC-SHA-256 of a constant, in 8 digits of lower-case base32.
func LinkKeyID(linkKey []byte) string {
	return linkAlphabet.EncodeToString(authenticate(linkKey, []byte(linkKeyMessage))[:5])
}

// LinkToken opens the form of the instance with that public id: [LinkKeyID], and
// behind it the first 20 bytes of HMAC-SHA-256 of the public id under the key, in
// 32 digits of lower-case base32. So a reminder carries the same link as the first
// send, and nobody need store it. Whoever has the key can make every link; use 32
// random bytes.
func LinkToken(linkKey []byte, publicID string) string {
	return LinkKeyID(linkKey) + linkAlphabet.EncodeToString(authenticate(linkKey, []byte(publicID))[:20])
}
