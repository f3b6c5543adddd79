package rest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestStatusHasItsClass(t *testing.T) {
	t.Parallel()
	got := map[int]channel.Class{}
	want := map[int]channel.Class{
		200: channel.ClassUnknown, 204: channel.ClassUnknown, 301: channel.ClassTransient, 304: channel.ClassTransient,
		400: channel.ClassPermanent, 401: channel.ClassTransient, 403: channel.ClassTransient, 404: channel.ClassPermanent,
		407: channel.ClassTransient, 408: channel.ClassTransient, 413: channel.ClassPermanent, 425: channel.ClassTransient,
		429: channel.ClassTransient, 500: channel.ClassUnknown, 502: channel.ClassUnknown, 503: channel.ClassTransient,
		504: channel.ClassUnknown, 599: channel.ClassUnknown,
	}
	for status := range want {
		a := &Answer{Status: status, client: &Client{provider: "test"}}
		got[status] = a.Refusal("").Class
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStatusBlamesTheChannel(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]channel.Fault{
		301: channel.FaultAccount, 401: channel.FaultAccount, 403: channel.FaultAccount, 407: channel.FaultAccount, 429: channel.FaultAccount,
		200: "", 400: "", 404: "", 408: "", 425: "", 500: "", 503: channel.FaultProvider,
	} {
		a := &Answer{Status: status, client: &Client{provider: "test"}}
		if got := a.Refusal("").Fault; got != want {
			t.Errorf("%d blames %q, want %q", status, got, want)
		}
	}
}

func TestCodeHoldsNothingPersonal(t *testing.T) {
	t.Parallel()
	a := &Answer{Status: 400, client: &Client{provider: "test"}}
	for code, want := range map[string]string{
		"21211": "400 21211", "TOO_MANY_REQUESTS": "400 TOO_MANY_REQUESTS", "": "400", "personalizations.0.to": "400 personalizations.0.to",
		"+4917612345": "400", "4917612345": "400", "sam@school.example": "400", "is not a number": "400", "a\nb": "400",
		strings.Repeat("a", 41): "400",
	} {
		err := a.Permanent(code)
		if err.Code != want || err.Err.Error() != "test: answer "+want {
			t.Errorf("%q: %v", code, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const date = "Sun, 01 Mar 2026 08:00:00 GMT"
	for text, want := range map[string]time.Duration{
		"120": 2 * time.Minute, " 3 ": 3 * time.Second, "": 0, "-5": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0,
		"Sun, 01 Mar 2026 08:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 07:59:00 GMT": 0,
	} {
		a := &Answer{Status: 429, Header: http.Header{"Retry-After": {text}, "Date": {date}}, client: &Client{}}
		if got := a.Refusal("").RetryAfter; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	undated := &Answer{Header: http.Header{"Retry-After": {date}}}
	if got := undated.RetryAfter(); got != 0 {
		t.Error("a date without the provider's own clock:", got)
	}
}

func TestAnswerThatIsNotWholeIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"too long": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer+1)) },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("1234"))
		},
		"is no HTTP": func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, "500 sam@school.example\r\n\r\n")
				_ = c.Close()
			}
		},
		"has huge headers": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Huge", strings.Repeat("a", 1<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := refused(t.Context(), t, client(t, Options{}), post(serve(t, answer).URL))
			if err.Class != channel.ClassUnknown || strings.Contains(err.Error(), "sam@") {
				t.Error(err)
			}
		})
	}
}

func TestStatusAloneMayBeTheAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, maxAnswer))
			}
		},
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("1234"))
		},
	} {
		call := post(serve(t, answer).URL)
		call.StatusOnly = true
		if got, err := client(t, Options{}).Do(t.Context(), call); err != nil || got.Status != http.StatusOK || len(got.Body) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswerThatStallsEndsWithItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(t, Options{Timeout: time.Hour, Dial: piped(make(chan struct{}), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{")})
		err := refused(t.Context(), t, c, post("http://provider.example"))
		if err.Class != channel.ClassUnknown || !strings.Contains(err.Error(), "answer 200") {
			t.Error(err)
		}
	})
}

func TestLongestAnswerIsRead(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer)) })
	answer, err := client(t, Options{}).Do(t.Context(), post(s.URL))
	if err != nil || len(answer.Body) != maxAnswer {
		t.Error(err)
	}
}

func TestJSONErrorQuotesNothing(t *testing.T) {
	t.Parallel()
	a := &Answer{Status: 201, Body: []byte("<html>sam@school.example"), client: &Client{provider: "test"}}
	err := a.JSON(new(struct{}))
	if got := fmt.Sprint(err); got != "test: answer 201 is not the JSON that is documented" {
		t.Error(got)
	}
}
