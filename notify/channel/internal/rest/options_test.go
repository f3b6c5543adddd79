package rest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryFaultIsListed(t *testing.T) {
	t.Parallel()
	var f Faults
	Options{Timeout: -time.Second, MaxConns: -1, Proxy: &url.URL{Scheme: "socks5", User: url.UserPassword("u", "canary"), Host: "h"}}.Check(&f)
	f.Add(false, "nothing")
	f.Secret("apiKey", "")
	want := "test: Timeout is negative; MaxConns is negative; Proxy is not of the form http://host:port; apiKey is required"
	if diff := cmp.Diff(want, fmt.Sprint(f.Err("test"))); diff != "" {
		t.Error(diff)
	}
	if err := Faults(nil).Err("test"); err != nil {
		t.Error(err)
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://api.example":            "https://api.example",
		"https://api.example/v3//":       "https://api.example/v3",
		"http://127.0.0.1:8080/":         "http://127.0.0.1:8080",
		"http://localhost:1":             "http://localhost:1",
		"http://[::1]:1/x":               "http://[::1]:1/x",
		"http://api.example":             "",
		"ftp://api.example":              "",
		"api.example":                    "",
		"":                               "",
		"https://canary:canary@a.b":      "",
		"https://a.b/?key=canary":        "",
		"https://a.b/#canary":            "",
		"https://canary\x00.example":     "",
		"http://127.0.0.1.evil.example/": "",
	} {
		var f Faults
		got := f.BaseURL("BaseURL", text)
		err := f.Err("test")
		if err == nil && got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestSecretMustFitInAHeader(t *testing.T) {
	t.Parallel()
	for secret, ok := range map[string]bool{"SG.a-b_c": true, "": false, "canary key": false, "canary\r\n": false, "canaryß": false} {
		var f Faults
		f.Secret("apiKey", secret)
		err := f.Err("test")
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

func TestPrintedClientShowsNoCredentials(t *testing.T) {
	t.Parallel()
	c := client(t, Options{Authorize: Basic("user", "canary")})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}
