package keys

import (
	"crypto/sha256"
	"encoding/binary"
)

// Sum is SHA-256 over fields, each after its length in bytes as eight bytes
// big endian. The lengths make the message injective: ("ab", "c"), ("a",
// "bc") and ("ab", "c", "") are three different messages. Fields may hold any
// bytes.
func Sum(fields ...string) [sha256.Size]byte {
	return sha256.Sum256(lengthPrefixed(fields))
}

func lengthPrefixed(fields []string) []byte {
	message := make([]byte, 0, 512) // most are shorter, and stay on the stack
	for _, f := range fields {
		message = binary.BigEndian.AppendUint64(message, uint64(len(f)))
		message = append(message, f...)
	}
	return message
}
