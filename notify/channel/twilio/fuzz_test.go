package twilio

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

// FuzzEvents looks for a callback that is signed and yet breaks the parser, or
// whose events could not be stored.
func FuzzEvents(f *testing.F) {
	f.Add("belfry_message="+id, "MessageSid="+sid+"&MessageStatus=failed&ErrorCode=30005", false)
	f.Add("belfry_message=%2B1415555", `{"MessageSid":"`+sid+`","MessageStatus":["sent"],"ErrorCode":1e9}`, true)
	w, err := NewWebhook(token)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, query, body string, asJSON bool) {
		to, kind, tail := "https://school.example/hooks?"+query, "application/x-www-form-urlencoded", ""
		if asJSON {
			sum := sha256.Sum256([]byte(body))
			to, kind = to+"&bodySHA256="+hex.EncodeToString(sum[:]), "application/json"
		} else if params, err := url.ParseQuery(body); err == nil {
			tail = joined(params)
		}
		got, _ := w.Events(request(to, signer(token)([]byte(to+tail)), kind, body))
		for _, e := range got {
			if !strings.HasPrefix(e.EventID, e.ProviderMessageID+":") || e.Kind == "" || len(e.Code) > 40 || strings.ContainsAny(e.MessageID+e.Code, "@+ ") {
				t.Errorf("%+v", e)
			}
		}
	})
}
