package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestCallArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	type seen struct{ Method, Path, Type, Agent, Auth, Extra, Body string }
	got := make(chan seen, 2)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("User-Agent"),
			r.Header.Get("Authorization"), r.Header.Get("X-Extra"), string(body)}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"7"}`)
	})
	c := client(t, Options{Authorize: Basic("user", "pass")})
	call := post(s.URL + "/v1?q=1")
	call.Header = http.Header{"X-Extra": {"e"}}
	answer, err := c.Do(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	var id struct{ ID string }
	if err := answer.JSON(&id); err != nil || answer.Status != http.StatusCreated || id.ID != "7" {
		t.Error(err, answer.Status, id)
	}
	if _, err := c.Do(t.Context(), Call{Method: http.MethodGet, URL: s.URL + "/v2"}); err != nil {
		t.Fatal(err)
	}
	want := []seen{
		{"POST", "/v1?q=1", "application/json", "belfry", "Basic dXNlcjpwYXNz", "e", `{"to":"sam"}`},
		{"GET", "/v2", "", "belfry", "Basic dXNlcjpwYXNz", "", ""},
	}
	if diff := cmp.Diff(want, []seen{<-got, <-got}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(http.Header{"X-Extra": {"e"}}, call.Header); diff != "" {
		t.Error("the caller's header was changed", diff)
	}
}

func TestNothingWasSentToAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, address := range map[string]string{
		"refused":     "http://" + listener.Addr().String(),
		"no name":     "http://host.invalid",
		"certificate": secure.URL,
		"no TLS":      strings.Replace(serve(t, func(http.ResponseWriter, *http.Request) {}).URL, "http:", "https:", 1),
	} {
		if err := refused(t.Context(), t, client(t, Options{}), post(address)); err.Class != channel.ClassTransient || err.Code != "connect" || err.Fault != channel.FaultProvider {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestContextThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(int, int) bool { return false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := refused(ctx, t, client(t, Options{}), post(p.url)); err.Class != channel.ClassTransient || err.Fault != "" || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if p.seen() != 0 {
		t.Error("a request was made")
	}
}

func TestI30_CallReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]error{"cancelled": context.Canceled, "timeout": context.DeadlineExceeded} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				silent := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if how == "cancelled" {
					go func() { <-silent; cancel() }()
				}
				c := client(t, Options{Timeout: time.Hour, Dial: piped(silent, "")})
				if err := refused(ctx, t, c, post("http://provider.example")); err.Class != channel.ClassUnknown || !errors.Is(err, want) {
					t.Error(err)
				}
			})
		})
	}
}

func TestWaitingForAConnectionSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		working := make(chan struct{})
		c := client(t, Options{MaxConns: 1, Timeout: time.Hour, Dial: piped(working, "")})
		if n := c.MaxCalls(); n != 1 {
			t.Errorf("it says that it makes %d calls at once", n)
		}
		first := make(chan *channel.Error, 1)
		go func() { first <- refused(t.Context(), t, c, post("http://provider.example")) }()
		<-working
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := refused(ctx, t, c, post("http://provider.example")); err.Class != channel.ClassTransient {
			t.Error(err)
		}
		if err := <-first; err.Class != channel.ClassUnknown {
			t.Error(err)
		}
	})
}

func TestErrorHoldsNeitherURLNorBody(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	c := client(t, Options{Authorize: Header("X-Key", "canary")})
	for _, address := range []string{s.URL + "/canary", "http://canary:x:y/", "http://127.0.0.1:1/canary"} {
		call := post(address)
		call.Body = []byte("canary")
		if err := refused(t.Context(), t, c, call); strings.Contains(err.Error(), "canary") {
			t.Error(err)
		}
	}
}

func TestHeaderThatCannotBeIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(int, int) bool { return false })
	call := post(p.url)
	call.Header = http.Header{"X-Name": {"canary\r\nX-Other: 1"}}
	if err := refused(t.Context(), t, client(t, Options{}), call); strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
	if p.seen() != 0 {
		t.Error("a request was made")
	}
}

func TestProxyIsUsedOnlyWhereItIsConfigured(t *testing.T) {
	t.Parallel()
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client(t, Options{Proxy: through}).Do(t.Context(), post("http://api.invalid/"))
	if err != nil || answer.Status != http.StatusTeapot {
		t.Error(err)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	s.StartTLS()
	t.Cleanup(s.Close)
	if err := refused(t.Context(), t, client(t, Options{}), post(s.URL)); err.Class != channel.ClassTransient {
		t.Error(err)
	}
}
