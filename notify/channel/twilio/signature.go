package twilio

import (
	"crypto/hmac"
	"crypto/sha1" // what Twilio signs with; an HMAC needs no collision resistance
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var errSignature = rest.Refused("twilio", "signature is missing or wrong")

func signer(token string) func([]byte) string {
	return func(text []byte) string {
		mac := hmac.New(sha1.New, []byte(token))
		_, _ = mac.Write(text) // a hash takes everything
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
}

// signed verifies X-Twilio-Signature: over the URL as it was called, and each
// parameter's name and value, sorted (Twilio documentation, "Webhooks security").
// Whether
// the URL has its port in it, Twilio does not promise, so both are tried.
func (w *Webhook) signed(r notify.WebhookRequest, params url.Values) bool {
	given := []byte(r.Header.Get("X-Twilio-Signature"))
	tail := joined(params)
	good := false
	for _, address := range spellings(r.URL) {
		for _, sign := range w.tokens {
			good = hmac.Equal([]byte(sign([]byte(address+tail))), given) || good
		}
	}
	return good
}

// joined is each name with each of its values, sorted, without anything between.
func joined(params url.Values) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(params)) {
		values := slices.Sorted(slices.Values(params[name]))
		for _, value := range slices.Compact(values) {
			b.WriteString(name + value)
		}
	}
	return b.String()
}

// spellings are the URL as it is, and without its port or with the usual one.
func spellings(address string) []string {
	scheme, after, found := strings.Cut(address, "://")
	port := map[string]string{"https": ":443", "http": ":80"}[scheme]
	if !found || port == "" {
		return []string{address}
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	host, path := after[:end], after[end:]
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexAny(host, "]@") {
		return []string{address, scheme + "://" + host[:colon] + path}
	}
	return []string{address, scheme + "://" + host + port + path}
}

// hashes compares the SHA-256 of a JSON body with what the signed URL says.
func hashes(body []byte, want string) bool {
	sum := sha256.Sum256(body)
	return hmac.Equal([]byte(hex.EncodeToString(sum[:])), []byte(strings.ToLower(want)))
}
