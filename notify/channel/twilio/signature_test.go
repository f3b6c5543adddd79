package twilio

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
)

// These are the examples of Twilio's own libraries, signed under "12345".
const (
	published = "https://mycompany.com/myapp.php?foo=1&bar=2"
	hash      = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
	jsonBody  = `{"property": "value", "boolean": true}`
)

func request(address, signature, contentType, body string) channel.WebhookRequest {
	h := http.Header{"X-Twilio-Signature": {signature}, "Content-Type": {contentType}}
	return channel.WebhookRequest{Method: http.MethodPost, URL: address, Header: h, Body: []byte(body), Now: now}
}

func TestPublishedSignatures(t *testing.T) {
	t.Parallel()
	params := url.Values{"Digits": {"1234"}, "CallSid": {"CA1234567890ABCDE"}, "To": {"+18005551212"}, "Caller": {"+14158675309"},
		"From": {"+14158675309"}, "ReasonConferenceEnded": {"test"}, "Reason": {"Participant"}}.Encode()
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		r  channel.WebhookRequest
		ok bool
	}{
		"parameters":         {request(published, "vOEb5UThFn24KEfnOFLQY2AE5FY=", form, params), true},
		"usual port":         {request(strings.Replace(published, ".com", ".com:443", 1), "vOEb5UThFn24KEfnOFLQY2AE5FY=", form, params), true},
		"another port":       {request(strings.Replace(published, ".com", ".com:1234", 1), "vOEb5UThFn24KEfnOFLQY2AE5FY=", form, params), true},
		"http":               {request(strings.Replace(published, "https", "http", 1), "n2xBNyzSW7rfYStDtOFiFMv7qNo=", form, params), true},
		"signed with port":   {request(published, signer("12345")([]byte(strings.Replace(published, ".com", ".com:443", 1)+"a1")), form, "a=1"), true},
		"wrongly sorted":     {request(published, "95+Bu0JVPi0r/SsESZCVf0dWAjw=", form, params), false},
		"small form":         {request(published, "NBdBDr/T/lgjI+tlgpXjKZQZs/k=", form, "property=value&boolean=true"), true},
		"JSON":               {request(published+"&bodySHA256="+hash, "a9nBmqA0ju/hNViExpshrM61xv4=", "application/json", jsonBody), true},
		"JSON only":          {request("https://mycompany.com/myapp.php?bodySHA256="+hash, "y77kIzt2vzLz71DgmJGsen2scGs=", "application/json", jsonBody), true},
		"JSON, another body": {request(published+"&bodySHA256="+hash, "a9nBmqA0ju/hNViExpshrM61xv4=", "application/json", jsonBody+" "), false},
		"JSON, another hash": {request(published+"&bodySHA256=00", "a9nBmqA0ju/hNViExpshrM61xv4=", "application/json", jsonBody), false},
		"JSON without hash":  {request(published, "a9nBmqA0ju/hNViExpshrM61xv4=", "application/json", jsonBody), false},
	} {
		got, err := webhook(t, "12345").Events(c.r)
		if got != nil || (err == nil) != c.ok || !c.ok && !errors.Is(err, channel.ErrWebhookRefused) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func sha(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

func TestJSONStatusIsRead(t *testing.T) {
	t.Parallel()
	const body = `{"MessageSid":"` + sid + `","MessageStatus":"undelivered","ErrorCode":30003}`
	to := address + "&bodySHA256=" + sha(body)
	got, err := webhook(t, token).Events(request(to, signer(token)([]byte(to)), "application/json", body))
	if err != nil || len(got) != 1 || got[0].Kind != channel.KindFailed || got[0].Code != "30003" || got[0].MessageID != id {
		t.Error(got, err)
	}
}

func TestSignedNonsenseIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"canary", `["canary"]`, ""} {
		to := address + "&bodySHA256=" + sha(body)
		got, err := webhook(t, token).Events(request(to, signer(token)([]byte(to)), "application/json", body))
		if err == nil || errors.Is(err, channel.ErrWebhookRefused) || strings.Contains(err.Error(), "canary") || got != nil {
			t.Errorf("%q: %v, %v", body, got, err)
		}
	}
}
