package resend

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	answer := func(status int, name, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fault(w, status, name, message+" sam@canary.example") }
	}
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(apiKey, &Options{From: "School <office@school.example>", BaseURL: at.URL, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return message() },
		Secrets: []string{apiKey},
		Read: func(_ *http.Request, body []byte) (string, bool) {
			var m email
			err := json.Unmarshal(body, &m)
			return m.Text, err == nil && m.Text != ""
		},
		Accept: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}`))
		},
		RefuseMessage: answer(422, "invalid_attachment", "Attachment must have either a `content` or `path`."),
		RefuseAccount: answer(403, "invalid_api_key", "API key is invalid."),
		Throttle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			answer(429, "rate_limit_exceeded", "Too many requests.")(w, r)
		},
		Without: map[string]string{"address refused": "Resend names no field in a form to rely on"},
	})
}
