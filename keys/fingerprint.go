package keys

import "encoding/hex"

// fingerprintMessage is never a message of RecipientHash, whose messages
// begin with eight bytes of length.
const fingerprintMessage = "belfry-recipient-key-fingerprint-1"

// Fingerprint tells one HMAC key from another without showing it: 8 bytes of
// HMAC-SHA-256 of a constant, in 16 lower-case hex digits. It is stored when
// the key is first used, so that opening the store with another key, or with
// none, can be refused. No key (nil or empty) gives "". A key that can be
// guessed can be found from its fingerprint, so use 32 random bytes.
func Fingerprint(hmacKey []byte) string {
	if len(hmacKey) == 0 {
		return ""
	}
	return hex.EncodeToString(authenticate(hmacKey, []byte(fingerprintMessage))[:8])
}
