package sendgrid

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary key", &Options{From: "x", ReplyTo: "y", BaseURL: "http://api.example", Timeout: -time.Second, MaxConns: -1})
	for _, want := range []string{"apiKey", "From", "ReplyTo", "BaseURL", "Timeout", "MaxConns"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v says nothing about %s", err, want)
		}
	}
	if strings.Contains(fmt.Sprint(err), "canary") {
		t.Error("the error holds the key:", err)
	}
	if _, err := New("", nil); err == nil || !strings.Contains(err.Error(), "apiKey is required; From") {
		t.Error(err)
	}
}

func TestKeyMayBeChosen(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"": "email:sendgrid", "email:eu": "email:eu"} {
		c, err := New(apiKey, &Options{Key: key, From: "office@school.example"})
		if err != nil || c.Key() != want {
			t.Error(c, err)
		}
	}
}

func TestPrintedChannelShowsNoKey(t *testing.T) {
	t.Parallel()
	c, err := New("SG.canary", &Options{From: "office@school.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}
