package sendgrid

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	answer := func(status int, field, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fault(w, status, field, message+" sam@canary.example") }
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
			var m mailRequest
			if json.Unmarshal(body, &m) != nil || len(m.Content) == 0 {
				return "", false
			}
			return m.Content[0].Value, true
		},
		Accept: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Message-Id", "LRzXl_NHStOGhQ4kofSm_A")
			w.WriteHeader(http.StatusAccepted)
		},
		RefuseMessage: answer(400, "subject", "The subject is required."),
		RefuseAddress: answer(400, "personalizations.0.to.0.email", "Does not contain a valid address:"),
		RefuseAccount: answer(401, "", "The provided authorization grant is invalid, expired, or revoked"),
		Throttle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			answer(429, "", "too many requests")(w, r)
		},
	})
}
