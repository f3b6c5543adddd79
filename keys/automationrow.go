package keys

import (
	"crypto/sha256"
	"encoding/hex"
)

// AutomationRowKey is the row key of a notification job that automation gave
// rise to, and so the bridge of idempotency from automation to notification
// (Communication - System architecture, "Key policy"): the first 20 bytes of
// SHA-256 of the scheduler key, in 40 lower-case hex digits. It equals the
// StorageRunKeyHash of (Report Subscription), which groups the artifacts of
// one run. The key is hashed as it is given, without a check.
func AutomationRowKey(schedulerKey string) string {
	sum := sha256.Sum256([]byte(schedulerKey))
	return hex.EncodeToString(sum[:20])
}
