package notify

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestProgrammersErrorsPanicWithAClearMessage(t *testing.T) {
	t.Parallel()
	send := func(context.Context, Message) (Receipt, error) { return Receipt{}, nil }
	channel := func(key string) Channel { return ChannelFunc(key, send) }
	store := memory.New(nil)
	n := New(store, nil)
	n.Register(Type{Name: "visit"})
	for want, f := range map[string]func(){
		"New needs a store":             func() { New(nil, nil) },
		"channel 2 is nil":              func() { New(store, nil, channel("email:a"), nil) },
		`two channels have the key "`:   func() { New(store, nil, channel("email:a"), channel("email:a")) },
		`channel key "E-Mail"`:          func() { New(store, nil, channel("E-Mail")) },
		"ChannelFunc needs":             func() { ChannelFunc("email", nil) },
		"ChannelFunc needs a key":       func() { ChannelFunc("", send) },
		"a type needs a name":           func() { n.Register(Type{}) },
		"is registered already":         func() { n.Register(Type{Name: "visit"}) },
		`unknown InDoubt policy "Pray"`: func() { n.Register(Type{Name: "a", InDoubt: "Pray"}) },
		"unclosed action":               func() { n.Register(Type{Name: "a", Renderer: Template{Subject: "{{"}}) },
		"WithTx needs a transaction":    func() { n.WithTx(nil) },
		"gate 2 is nil":                 func() { New(store, &Options{Gates: []Gate{silentGate{}, nil}}) },
		"is not Options.HashKey": func() {
			New(store, &Options{HashKey: []byte("one"), Gates: Gates(store, &GateOptions{HashKey: []byte("another")})})
		},
		"no https address": func() {
			New(store, &Options{Unsubscribe: &UnsubscribeOptions{URL: "http://x.y", Key: make([]byte, 32)}})
		},
		"Key needs 32":          func() { New(store, &Options{Unsubscribe: &UnsubscribeOptions{URL: "https://x.y"}}) },
		"Gates needs a store":   func() { Gates(nil, nil) },
		"From is To":            func() { Gates(store, &GateOptions{Window: &SendWindow{From: "08:00", To: "08:00"}}) },
		`"8:00" is not written`: func() { Gates(store, &GateOptions{Window: &SendWindow{From: "8:00", To: "20:00"}}) },
		"is not an IANA name":   func() { Gates(store, &GateOptions{Window: &SendWindow{From: "08:00", To: "20:00", Zone: "!"}}) },
		"a cap of 0 messages":   func() { Gates(store, &GateOptions{Caps: []FrequencyCap{{Per: time.Hour}}}) },
		"a rate of 0 calls":     func() { Gates(store, &GateOptions{Rates: []RateLimit{{Channel: "sms", Per: time.Hour}}}) },
		"two rates of channel": func() {
			Gates(store, &GateOptions{Rates: []RateLimit{{Channel: "sms", Limit: 1, Per: time.Hour}, {Channel: "sms", Limit: 1, Per: time.Hour}}})
		},
		"holds an empty entry": func() { Gates(store, &GateOptions{Recipients: &RecipientGuard{Allow: []string{" "}}}) },
		`Redirect of "email"`: func() {
			Gates(store, &GateOptions{Recipients: &RecipientGuard{Redirect: map[string]string{"email": "nobody"}}})
		},
		"belongs to another store": func() {
			_ = memory.New(nil).InTx(t.Context(), func(tx storage.Tx) error { n.WithTx(tx); return nil })
		},
	} {
		if got := panicOf(f); !strings.Contains(got, want) {
			t.Errorf("want a panic with %q, got %q", want, got)
		}
	}
}

func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func TestMethodIsWhatStandsBeforeTheColon(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"email:smtp": "email", "sms": "sms", "sms:a:b": "sms", "": ""} {
		if got := Method(key); got != want {
			t.Errorf("%q: %q", key, got)
		}
	}
}
