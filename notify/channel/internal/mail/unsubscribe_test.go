package mail_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestUnsubscribingTakesOneClick(t *testing.T) {
	t.Parallel()
	m := message()
	for _, address := range []string{"https://school.example/u?t=abc", "https://school.example/u?t=" + strings.Repeat("abc", 250)} {
		m.UnsubscribeURL = address
		raw := build(t, m).Bytes
		_, parsed, err := read(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Header.Get("List-Unsubscribe"); got != "<"+address+">" {
			t.Error(got)
		}
		if got := parsed.Header.Get("List-Unsubscribe-Post"); got != "List-Unsubscribe=One-Click" {
			t.Error(got)
		}
		if why := sane(raw); why != "" {
			t.Error(why)
		}
	}
}

func TestUnsubscribeURLThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://school.example/canary", "mailto:canary@school.example", "https:///canary", "https://school.example/canary\r\nBcc: eve@example.com",
		"https://school.example/canary>,<mailto:eve@example.com", "https://school.example/canary, x", "https://school.example/ü-canary",
		"https://school.example/canary?=?utf-8?q?a?=", "https://school.example/canary" + strings.Repeat("a", 900),
	} {
		m := message()
		m.UnsubscribeURL = address
		_, err := sender(t).Build(m)
		if got := channel.Classify(err); got == nil || got.Class != channel.ClassPermanent || got.Code != "header" || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.60s: %v", address, err)
		}
	}
}
