package infobip

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	answer := func(status int, messageID string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fault(w, status, messageID, "about +41793026727") }
	}
	state := func(group, name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { status200(group, name)(w, r) }
	}
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := NewSMS(at.URL, apiKey, &Options{From: "School", TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return message() },
		Secrets: []string{apiKey},
		Read: func(r *http.Request, body []byte) (string, bool) {
			var all smsMessages
			if r.Method != http.MethodPost || json.Unmarshal(body, &all) != nil || len(all.Messages) != 1 {
				return "", false
			}
			return all.Messages[0].Content.Text, true
		},
		Accept:        state(pending, "PENDING_ACCEPTED"),
		RefuseMessage: answer(400, "BAD_REQUEST"),
		RefuseAddress: state(rejected, "REJECTED_DESTINATION"),
		RefuseAccount: answer(401, "UNAUTHORIZED"),
		Throttle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			answer(429, "TOO_MANY_REQUESTS")(w, r)
		},
	})
}
