package postmark

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	answer := func(status, code int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fault(w, status, code, message+" sam@canary.example") }
	}
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(token, &Options{From: "School <office@school.example>", BaseURL: at.URL, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return letter() },
		Secrets: []string{token},
		Read: func(_ *http.Request, body []byte) (string, bool) {
			var m email
			err := json.Unmarshal(body, &m)
			return m.Text, err == nil && m.Text != ""
		},
		Accept: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"ErrorCode":0,"Message":"OK","MessageID":"b7bc2f4a-e38e-4336-af7d-e6c392c2f817"}`))
		},
		Batch: &channeltest.Batch{
			Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
				c, err := New(token, &Options{From: "School <office@school.example>", BaseURL: at.URL, TLSConfig: at.TLS, Batch: 500})
				if err != nil {
					t.Fatal(err)
				}
				return c
			},
			Read: func(_ *http.Request, body []byte) (texts []string) {
				var all []email
				if json.Unmarshal(body, &all) != nil {
					return nil
				}
				for _, m := range all {
					texts = append(texts, m.Text)
				}
				return texts
			},
			Answer: func(messages, refused int) http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) {
					all := make([]map[string]any, messages)
					for i := range all {
						all[i] = map[string]any{"ErrorCode": 0, "Message": "OK", "MessageID": fmt.Sprint("b7bc2f4a-", i)}
						if i == refused {
							all[i] = map[string]any{"ErrorCode": 406, "Message": "Found inactive addresses: sam@canary.example"}
						}
					}
					_ = json.NewEncoder(w).Encode(all)
				}
			},
		},
		RefuseMessage: answer(422, 411, "Forbidden attachment type."),
		RefuseAddress: answer(422, 406, "Found inactive addresses:"),
		RefuseAccount: answer(401, 10, "Bad or missing API token."),
		Throttle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			answer(429, 429, "Rate limit exceeded.")(w, r)
		},
	})
}
