package keys_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
)

// TestRecipientHashDependsOnAllItIsGiven, the key included.
func TestRecipientHashDependsOnAllItIsGiven(t *testing.T) {
	t.Parallel()
	other := []byte(strings.Repeat("k", 32))
	seen := map[string]int{}
	for i, hash := range []string{
		keys.RecipientHash(nil, "42", "email", "sam@example.com"),
		keys.RecipientHash(hmacKey, "42", "email", "sam@example.com"),
		keys.RecipientHash(other, "42", "email", "sam@example.com"),
		keys.RecipientHash(nil, "43", "email", "sam@example.com"),
		keys.RecipientHash(nil, "42", "sms", "sam@example.com"),
		keys.RecipientHash(nil, "42", "email", "tom@example.com"),
		keys.RecipientHash(nil, "42e", "mail", "sam@example.com"),
		keys.RecipientHash(nil, "", "42email", "sam@example.com"),
	} {
		if j, taken := seen[hash]; taken {
			t.Errorf("hashes %d and %d are equal", i, j)
		}
		if _, err := keys.OutgoingMessageRow(hash, "email", 0); err != nil {
			t.Errorf("hash %d: %v", i, err)
		}
		seen[hash] = i
	}
}

func TestNoHMACKeyIsAnEmptyOne(t *testing.T) {
	t.Parallel()
	if keys.RecipientHash(nil, "a", "b", "c") != keys.RecipientHash([]byte{}, "a", "b", "c") {
		t.Error("nil and empty key differ")
	}
	if got := keys.Fingerprint(nil) + keys.Fingerprint([]byte{}); got != "" {
		t.Errorf("fingerprint of no key: %q", got)
	}
}

// TestFingerprintTellsKeysApartAndShowsNone.
func TestFingerprintTellsKeysApartAndShowsNone(t *testing.T) {
	t.Parallel()
	fingerprint := keys.Fingerprint(hmacKey)
	if fingerprint == keys.Fingerprint(hmacKey[:31]) || fingerprint == keys.Fingerprint([]byte("x")) {
		t.Error("two keys have one fingerprint")
	}
	if len(fingerprint) != 16 || strings.Contains(hex.EncodeToString(hmacKey), fingerprint) {
		t.Errorf("got %q, want 16 digits that are no part of the key", fingerprint)
	}
}
