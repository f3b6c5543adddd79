package automationhttp

import (
	"crypto/sha256"
	"fmt"
)

// isToken says whether a header can stand for a request.
func isToken(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(text) >= 1 && len(text) <= 200
}

// idempotent is the id of the run that an actor asks for with an Idempotency-Key: a
// UUID of version 8, since it has to be the same for the same request, and another
// for another actor's.
func idempotent(actor, key string) string {
	u := sha256.Sum256([]byte("Idempotency-Key\x00" + actor + "\x00" + key))
	u[6] = u[6]&0x0f | 0x80 // version 8
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
