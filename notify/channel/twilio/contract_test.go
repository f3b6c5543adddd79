package twilio

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	answer := func(status, code int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { fault(w, status, code, message+" "+r.FormValue("To")) }
	}
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := NewSMS(account, token, &Options{BaseURL: at.URL, TLSConfig: at.TLS, From: "+15017122661"})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return message() },
		Secrets: []string{token},
		Read: func(_ *http.Request, body []byte) (string, bool) {
			form, err := url.ParseQuery(string(body))
			return form.Get("Body"), err == nil && form.Has("Body")
		},
		Accept: func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			if code, why := invalid(r.PostForm); code != 0 {
				fault(w, 400, code, why)
				return
			}
			created(w, r.PostForm)
		},
		RefuseMessage: answer(400, 21617, "The concatenated message body exceeds the limit"),
		RefuseAddress: answer(400, 21211, "Invalid 'To' Phone Number"),
		RefuseAccount: answer(401, 20003, "Authenticate"),
		Throttle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			answer(429, 20429, "Too Many Requests")(w, r)
		},
	})
}
