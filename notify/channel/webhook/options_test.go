package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	both := func(context.Context, string) ([]string, error) { return nil, nil }
	_, err := New(&Options{Secrets: []string{"canary"}, Deduplicates: -1, Timeout: -1, MaxConns: -1, Trusted: []string{"https://canary/"}})
	_, err2 := New(&Options{Secrets: []string{secret}, SecretsOf: both})
	_, err3 := New(nil)
	for want, err := range map[string]error{"Secrets: secret 1": err, "Deduplicates": err, "Timeout": err, "MaxConns": err, "Trusted": err,
		"either Secrets or SecretsOf": err2, "either Secrets or SecretsOf is": err3} {
		if !strings.Contains(fmt.Sprint(err), want) || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%v says nothing about %s, or too much", err, want)
		}
	}
	for _, host := range []string{"", "a b", "*.internal", "user@host", "10.0.0.1:80", "10.0.0.0/8"} {
		if _, err := New(&Options{Secrets: []string{secret}, Trusted: []string{host}}); err == nil {
			t.Errorf("%q is a host", host)
		}
	}
}

func TestWindowIsDeclaredByOptionOnly(t *testing.T) {
	t.Parallel()
	var got []any
	for _, o := range []Options{{}, {Key: "webhook:partners", Deduplicates: time.Hour, Trusted: []string{"::1", "hooks.internal"}}} {
		o.Secrets = []string{secret}
		c, err := New(&o)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Key(), c.IdempotencyWindow())
	}
	if diff := cmp.Diff([]any{"webhook:standard", time.Duration(0), "webhook:partners", time.Hour}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrintedChannelShowsNoSecret(t *testing.T) {
	t.Parallel()
	c, err := New(&Options{Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "MfKQ") || strings.Contains(text, "49 242") {
			t.Error(verb, text)
		}
	}
}
