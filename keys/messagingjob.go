package keys

import (
	"crypto/sha256"
	"fmt"
)

// MessagingJobGUID is the id of a report's messaging job: the first 16 bytes
// of SHA-256 of the scheduler key as a UUID of version 8 (RFC 9562, "custom"),
// in lower case. So a retry finds the job of the first try. Apart from the six
// bits of version and variant it begins with the same digits as
// [AutomationRowKey].
func MessagingJobGUID(schedulerKey string) string {
	u := sha256.Sum256([]byte(schedulerKey))
	u[6] = u[6]&0x0f | 0x80 // version 8
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
