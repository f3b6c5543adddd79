package dialog360

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { write(w, status, body) }
	}
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(apiKey, &Options{BaseURL: at.URL, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return message() },
		Secrets: []string{apiKey},
		Read: func(_ *http.Request, body []byte) (string, bool) {
			var m messageRequest
			if json.Unmarshal(body, &m) != nil || m.fault() {
				return "", false
			}
			if m.Text == nil {
				return "", true
			}
			return m.Text.Body, true
		},
		Accept:        answer(200, `{"messages":[{"id":"`+wamid+`"}]}`),
		RefuseMessage: answer(400, fault(100)),
		RefuseAddress: answer(400, fault(131026)),
		RefuseAccount: answer(401, `{"error":"Invalid api_key"}`),
		Throttle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			write(w, 429, fault(80007))
		},
	})
}
