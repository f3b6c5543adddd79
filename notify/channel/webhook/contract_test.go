package webhook

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(&Options{Secrets: []string{secret}, Trusted: []string{"127.0.0.1"}, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(at channeltest.Provider) channel.Message {
			return channel.Message{To: at.URL + "/hooks?token=canary", Subject: "Your certificate"}
		},
		Secrets: []string{secret, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		Read: func(r *http.Request, content []byte) (string, bool) {
			var b body
			if json.Unmarshal(content, &b) != nil || Verify(secret, r.Header, content, now) != nil {
				return "", false
			}
			return b.Data.Text, true
		},
		Accept:        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		RefuseAddress: func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.URL.String(), http.StatusNotFound) },
		Throttle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, r.URL.String(), http.StatusTooManyRequests)
		},
		StatusAlone: true,
		Without: map[string]string{
			"message refused": "each receiver is a server of its own, and says nothing that is documented of the message",
			"account refused": "each receiver is a server of its own, and knows no account",
		},
	})
}
