package sendgrid

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

// outcome is what a Send error comes to.
type outcome struct {
	Class      notify.SendClass
	Code       string
	RetryAfter time.Duration
}

// says is the script that answers with a status, headers ("Name: value") and a
// documented body.
func says(status int, field, message string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		fault(w, status, field, message)
		return true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	date := "Date: " + now.Format(http.TimeFormat)
	for name, c := range map[string]struct {
		script func(http.ResponseWriter, *http.Request) bool
		want   outcome
	}{
		"bad address":      {says(400, "personalizations.0.to.0.email", "Does not contain a valid address: sam@canary.example."), outcome{notify.ClassPermanent, "400 personalizations.0.to.0.email", 0}},
		"no field":         {says(400, "", "Bad Request"), outcome{notify.ClassPermanent, "400", 0}},
		"address as field": {says(400, "sam@canary.example", "no"), outcome{notify.ClassPermanent, "400", 0}},
		"no sender":        {says(403, "from", "The from address does not match a verified Sender Identity."), outcome{notify.ClassTransient, "403 from", 0}},
		"no credits":       {says(401, "", "Maximum credits exceeded"), outcome{notify.ClassTransient, "401", 0}},
		"too large":        {says(413, "", "The JSON payload you have included in your request is too large."), outcome{notify.ClassPermanent, "413", 0}},
		"too many":         {says(429, "", "too many requests", date, "X-RateLimit-Reset: 1772352060"), outcome{notify.ClassTransient, "429", time.Minute}},
		"too many, asked":  {says(429, "", "too many requests", date, "Retry-After: 7", "X-RateLimit-Reset: 1772352060"), outcome{notify.ClassTransient, "429", 7 * time.Second}},
		"reset in a year":  {says(429, "", "too many requests", date, "X-RateLimit-Reset: 1803888000"), outcome{notify.ClassTransient, "429", 0}},
		"reset is over":    {says(429, "", "too many requests", date, "X-RateLimit-Reset: 1"), outcome{notify.ClassTransient, "429", 0}},
		"fails":            {says(500, "", "Internal server error"), outcome{notify.ClassUnknown, "500", 0}},
		"gateway fails":    {says(502, "", "Bad Gateway"), outcome{notify.ClassUnknown, "502", 0}},
		"not available":    {says(503, "", "Service unavailable", "Retry-After: 120"), outcome{notify.ClassTransient, "503", 2 * time.Minute}},
		"sandbox":          {says(200, "", ""), outcome{notify.ClassUnknown, "200", 0}},
		"moved":            {says(308, "", "", "Location: /v3/mail/send"), outcome{notify.ClassTransient, "308", 0}},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, "<html>sam@canary.example")
			return true
		}, outcome{notify.ClassPermanent, "400", 0}},
		"drops the request": {func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, outcome{notify.ClassUnknown, "no answer", 0}},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusAccepted)
			return true
		}, outcome{notify.ClassUnknown, "no whole answer", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.script)
			err := refuse(t, open(t, s, Options{}), message())
			if diff := cmp.Diff(c.want, outcome{err.Class, err.Code, err.RetryAfter}); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), apiKey) {
				t.Error("personal data in the error:", err)
			}
			if requests, _ := s.seen(); requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

//spec:f-008
func TestOneRequestForEachSendAlsoWhenAKeptConnectionDies(t *testing.T) {
	t.Parallel()
	drops := make(chan bool, 2)
	s := serve(t, func(http.ResponseWriter, *http.Request) bool {
		if <-drops {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	c := open(t, s, Options{})
	drops <- false
	if _, err := c.Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	drops <- true
	if err := refuse(t, c, message()); err.Class != notify.ClassUnknown {
		t.Error(err)
	}
	if requests, _ := s.seen(); requests != 2 {
		t.Errorf("%d requests for 2 Sends", requests)
	}
}

func TestI30_SendReturnsAfterItsTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	if err := refuse(t, open(t, s, Options{Timeout: time.Second / 10}), message()); err.Class != notify.ClassUnknown {
		t.Error(err)
	}
}
