package smtp

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNewNamesTheSettingThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	from := "office@school.example"
	for name, c := range map[string]struct {
		addr string
		opts *Options
		want string
	}{
		"no options":        {"mail.example", nil, "Options.From"},
		"no From":           {"mail.example", &Options{}, "From"},
		"From with header":  {"mail.example", &Options{From: from + "\r\nBcc: x@y.z"}, "From"},
		"bad ReplyTo":       {"mail.example", &Options{From: from, ReplyTo: "school"}, "ReplyTo"},
		"no address":        {"", &Options{From: from}, "server"},
		"URL as address":    {"smtp://mail.example", &Options{From: from}, "server"},
		"user in address":   {"school:secret@mail.example", &Options{From: from}, "server"},
		"unknown TLS":       {"mail.example", &Options{From: from, TLS: 7}, "TLS"},
		"bad Helo":          {"mail.example", &Options{From: from, Helo: "a b"}, "Helo"},
		"negative Timeout":  {"mail.example", &Options{From: from, Timeout: -time.Second}, "Timeout"},
		"negative MaxConns": {"mail.example", &Options{From: from, MaxConns: -1}, "MaxConns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(c.addr, c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error about %s", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error holds a password: %v", err)
			}
		})
	}
}

func TestPortFollowsTheTLSPolicy(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for addr, policy := range map[string]TLS{"a.example": StartTLS, "b.example": ImplicitTLS, "c.example": NoTLS, "d.example:2525": StartTLS, "::1": NoTLS, "e.example:": NoTLS, "[::2]": NoTLS} {
		c, err := New(addr, &Options{From: "office@school.example", TLS: policy})
		if err != nil {
			t.Fatal(err)
		}
		got[addr] = c.dialer.addr
	}
	want := map[string]string{"a.example": "a.example:587", "b.example": "b.example:465", "c.example": "c.example:25",
		"d.example:2525": "d.example:2525", "::1": "[::1]:25", "e.example:": "e.example:25", "[::2]": "[::2]:25"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKeyMayBeChosen(t *testing.T) {
	t.Parallel()
	if got := open(t, "mail.example", nil).Key(); got != "email:smtp" {
		t.Error(got)
	}
	if got := open(t, "mail.example", &Options{Key: "email:backup"}).Key(); got != "email:backup" {
		t.Error(got)
	}
}
