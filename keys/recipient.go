package keys

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// recipientFormat is the first field of every RecipientKeyHash; see
// inputFormat.
const recipientFormat = "belfry-recipient-1"

// RecipientHash is the RecipientKeyHash (Communication - System architecture,
// "OutgoingMessage + send claim"): the first 20 bytes, in 40 lower-case hex
// digits, of a hash over the length-prefixed recipient identity, delivery
// method and normalised destination (E.164 for phones, lower-cased domain for
// mail). Never give it display text: a changed name must not make a second
// message.
//
// With a key the hash is HMAC-SHA-256 under it. Without one (nil or empty) it
// is plain SHA-256, from which whoever reads the database can find a phone
// number by trying all of them. A changed key changes every hash; see
// [Fingerprint].
func RecipientHash(hmacKey []byte, identity, method, destination string) string {
	message := lengthPrefixed([]string{recipientFormat, identity, method, destination})
	if len(hmacKey) == 0 {
		sum := sha256.Sum256(message)
		return hex.EncodeToString(sum[:20])
	}
	return hex.EncodeToString(authenticate(hmacKey, message)[:20])
}

func authenticate(hmacKey, message []byte) []byte {
	mac := hmac.New(sha256.New, hmacKey)
	mac.Write(message)
	return mac.Sum(nil)
}
