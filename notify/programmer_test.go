package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestProgrammersErrorsPanicWithAClearMessage(t *testing.T) {
	t.Parallel()
	send := func(context.Context, notify.Message) (notify.Receipt, error) { return notify.Receipt{}, nil }
	channel := func(key string) notify.Channel { return notify.ChannelFunc(key, send) }
	store := memory.New(nil)
	n := notify.New(store, nil)
	n.Register(notify.Type{Name: "visit"})
	for want, f := range map[string]func(){
		"New needs a store":             func() { notify.New(nil, nil) },
		"channel 2 is nil":              func() { notify.New(store, nil, channel("email:a"), nil) },
		`two channels have the key "`:   func() { notify.New(store, nil, channel("email:a"), channel("email:a")) },
		`channel key "E-Mail"`:          func() { notify.New(store, nil, channel("E-Mail")) },
		"ChannelFunc needs":             func() { notify.ChannelFunc("email", nil) },
		"ChannelFunc needs a key":       func() { notify.ChannelFunc("", send) },
		"a type needs a name":           func() { n.Register(notify.Type{}) },
		"is registered already":         func() { n.Register(notify.Type{Name: "visit"}) },
		`unknown InDoubt policy "Pray"`: func() { n.Register(notify.Type{Name: "a", InDoubt: "Pray"}) },
		"unclosed action":               func() { n.Register(notify.Type{Name: "a", Renderer: notify.Template{Subject: "{{"}}) },
		"WithTx needs a transaction":    func() { n.WithTx(nil) },
		"gate 2 is nil":                 func() { notify.New(store, &notify.Options{Gates: []notify.Gate{silentGate{}, nil}}) },
		"is not Options.HashKey": func() {
			notify.New(store, &notify.Options{HashKey: []byte("one"), Gates: gate.New(store, &gate.Options{HashKey: []byte("another")})})
		},
		"no https address": func() {
			notify.New(store, &notify.Options{Unsubscribe: &notify.UnsubscribeOptions{URL: "http://x.y", Key: make([]byte, 32)}})
		},
		"Key needs 32": func() {
			notify.New(store, &notify.Options{Unsubscribe: &notify.UnsubscribeOptions{URL: "https://x.y"}})
		},
		"gate: New needs a store": func() { gate.New(nil, nil) },
		"From is To": func() {
			gate.New(store, &gate.Options{Window: &gate.Window{From: "08:00", To: "08:00"}})
		},
		`"8:00" is not written`: func() {
			gate.New(store, &gate.Options{Window: &gate.Window{From: "8:00", To: "20:00"}})
		},
		"is not an IANA name": func() {
			gate.New(store, &gate.Options{Window: &gate.Window{From: "08:00", To: "20:00", Zone: "!"}})
		},
		"a cap of 0 messages": func() { gate.New(store, &gate.Options{Caps: []gate.Cap{{Per: time.Hour}}}) },
		"a rate of 0 calls": func() {
			gate.New(store, &gate.Options{Rates: []gate.Rate{{Channel: "sms", Per: time.Hour}}})
		},
		"two rates of channel": func() {
			gate.New(store, &gate.Options{Rates: []gate.Rate{{Channel: "sms", Limit: 1, Per: time.Hour}, {Channel: "sms", Limit: 1, Per: time.Hour}}})
		},
		"holds an empty entry": func() {
			gate.New(store, &gate.Options{Guard: &gate.Guard{Allow: []string{" "}}})
		},
		`Redirect of "email"`: func() {
			gate.New(store, &gate.Options{Guard: &gate.Guard{Redirect: map[string]string{"email": "nobody"}}})
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
		if got := notify.Method(key); got != want {
			t.Errorf("%q: %q", key, got)
		}
	}
}
