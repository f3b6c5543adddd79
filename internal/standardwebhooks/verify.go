package standardwebhooks

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the signed time may be from now.
const Tolerance = 5 * time.Minute

// The reasons for which a request proves nothing.
var (
	ErrSignature = errors.New("standardwebhooks: signature is missing or wrong")
	ErrTimestamp = errors.New("standardwebhooks: signed more than five minutes from now")
)

// Verify proves that a request with these headers and this raw body comes from
// somebody who has one of the keys, and is fresh. A repeat within that time is
// known by its id only.
func (k Keys) Verify(h http.Header, body []byte, now time.Time) error {
	id, timestamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	if id == "" || !k.signed(content(id, timestamp, body), h.Get(HeaderSignature)) {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Unix(seconds, 0).Sub(now).Abs() > Tolerance {
		return ErrTimestamp
	}
	return nil
}

// signed passes over signatures of other versions.
func (k Keys) signed(content []byte, signatures string) bool {
	for s := range strings.SplitSeq(signatures, " ") {
		encoded, ours := strings.CutPrefix(s, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if !ours || err != nil {
			continue
		}
		for _, sum := range k {
			if hmac.Equal(got, sum(content)) {
				return true
			}
		}
	}
	return false
}
