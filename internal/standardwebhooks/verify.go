// Package standardwebhooks signs and verifies HTTP requests as Standard Webhooks
// 1.0.0 says ("Verifying webhook authenticity"), with shared secrets.
package standardwebhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed request.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// The lengths of a secret in bytes.
const minSecret, maxSecret = 24, 64

// Keys are the secrets that a sender and a receiver share; more than one while a
// secret is replaced. The zero value has none. They are functions, so that
// nothing that is printed shows a secret.
type Keys []func(content []byte) []byte

// ParseKeys reads secrets in their serialised form: base64 of 24 to 64 bytes, with
// or without "whsec_" before it. The error does not hold them.
func ParseKeys(secrets ...string) (Keys, error) {
	if len(secrets) == 0 {
		return nil, errors.New("a secret is required")
	}
	keys := make(Keys, len(secrets))
	for i, s := range secrets {
		secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
		if err != nil || len(secret) < minSecret || len(secret) > maxSecret {
			return nil, fmt.Errorf("secret %d is not base64 of %d to %d bytes", i+1, minSecret, maxSecret)
		}
		keys[i] = func(content []byte) []byte {
			h := hmac.New(sha256.New, secret)
			_, _ = h.Write(content) // a hash takes everything
			return h.Sum(nil)
		}
	}
	return keys, nil
}

// Sign gives the value of the signature header, one signature for each key. id
// holds no full stop.
func (k Keys) Sign(id string, at time.Time, body []byte) string {
	signed := content(id, strconv.FormatInt(at.Unix(), 10), body)
	var all []string
	for _, sum := range k {
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(sum(signed)))
	}
	return strings.Join(all, " ")
}

// Header gives the headers of a signed request.
func (k Keys) Header(id string, at time.Time, body []byte) http.Header {
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, k.Sign(id, at, body))
	return h
}

func content(id, timestamp string, body []byte) []byte {
	return append([]byte(id+"."+timestamp+"."), body...)
}

// Tolerance is how far the signed time may be from now.
const Tolerance = 5 * time.Minute

// The reasons for which a request proves nothing.
var (
	ErrSignature = errors.New("standardwebhooks: signature is missing or wrong")
	ErrTimestamp = errors.New("standardwebhooks: signed more than five minutes from now")
)

// maxSignatures is how many entries of the header are looked at: a sender has one
// for each of its secrets, and replaces few at a time.
const maxSignatures = 16

// Verify proves that a request with these headers and this raw body comes from a holder
// of one of the keys, and is fresh. A repeat within that time is known by its id only. It
// reads the body once for each key at most, and not at all where the headers alone
// refuse; 16 signatures are looked at, the rest is ignored.
func (k Keys) Verify(h http.Header, body []byte, now time.Time) error {
	id, timestamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	if id == "" {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Unix(seconds, 0).Sub(now).Abs() > Tolerance {
		return ErrTimestamp
	}
	given := signatures(h.Get(HeaderSignature))
	if len(given) == 0 || !k.made(given, content(id, timestamp, body)) {
		return ErrSignature
	}
	return nil
}

// signatures passes over those of other versions.
func signatures(header string) (given [][]byte) {
	n := 0
	for s := range strings.SplitSeq(header, " ") {
		if n++; n > maxSignatures {
			break
		}
		encoded, ours := strings.CutPrefix(s, "v1,")
		sum, err := base64.StdEncoding.DecodeString(encoded)
		if ours && err == nil && len(sum) == sha256.Size {
			given = append(given, sum)
		}
	}
	return given
}

// made reports whether a key made one of the signatures.
func (k Keys) made(given [][]byte, content []byte) bool {
	for _, sum := range k {
		want := sum(content)
		if slices.ContainsFunc(given, func(got []byte) bool { return hmac.Equal(got, want) }) {
			return true
		}
	}
	return false
}

// RetryAfter is how long an answer with these headers asks to wait, in seconds or
// until a date by its sender's own clock; zero where it does not say or says
// nonsense (RFC 9110, section 10.2.3).
func RetryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err != nil || err2 != nil {
		return 0
	}
	return max(0, until.Sub(now))
}
