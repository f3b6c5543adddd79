package notify_test

import (
	"fmt"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// able is a channel that says what it can do.
type able struct {
	channel.Channel
	key string
	can channel.Capabilities
}

func (a able) Key() string                        { return a.key }
func (a able) Capabilities() channel.Capabilities { return a.can }

func TestATypeThatNoChannelCanSendIsRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		files := channel.Capabilities{Attachments: true}
		register := func(needs channel.Capabilities, channels ...channel.Channel) (refused string) {
			defer func() {
				if r := recover(); r != nil {
					refused = fmt.Sprint(r)
				}
			}()
			notify.New(h.store, nil, channels...).Register(notify.Type{Name: "invoice", Needs: needs})
			return ""
		}
		first, second := able{h.provider, "email:a", channel.Capabilities{Mail: true}}, able{h.provider, "email:b", files}
		want := `notify: Register "invoice": no channel can do what it Needs: email:a lacks Attachments; email:test lacks Attachments`
		if got := register(files, h.provider, first); got != want {
			t.Errorf("got %q", got)
		}
		if got := register(files, notify.Failover(h.provider, first)); !strings.Contains(got, "email:a lacks") {
			t.Errorf("a chain: got %q", got)
		}
		for what, got := range map[string]string{
			"one of them can": register(files, h.provider, first, second), "it needs nothing": register(channel.Capabilities{}, h.provider),
			"it only ensures": register(files),
		} {
			if got != "" {
				t.Errorf("%s: %s", what, got)
			}
		}
	})
}

// What cannot be sent as its type needs it is not sent in another way: it waits, nothing
// was called, and it goes out when its channel can.
func TestAMessageWhoseChannelLacksWhatItsTypeNeedsWaitsOnHold(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		needs := notify.Type{Name: "visit", Renderer: visitTemplate, Needs: channel.Capabilities{Attachments: true}}
		can := able{h.provider, "email:other", needs.Needs}
		h.dispatch(visit("7", person("sam")))
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, h.provider, can)
		h.Register(needs)
		h.drain()
		m := h.status(notify.StatusRetryReady)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.Refused}, m.SupportHold)
		if m.ReasonCode != reasons.ChannelIncapable || !m.DueOn.IsZero() || m.Calls != 0 || len(h.sent()) != 0 {
			t.Errorf("message is %+v after %d calls", m, len(h.sent()))
		}
		can.key = channelKey
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, can)
		h.Register(needs)
		by := notify.By{Actor: "ann", Reason: "it can now"}
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactOutgoingMessage, m.Key, by); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if h.status(notify.StatusSentToProvider); len(h.sent()) != 1 {
			t.Errorf("%d calls", len(h.sent()))
		}
	})
}

// A chain sends by those of its channels that can: the others are never called, neither
// first nor after a refusal.
func TestAChainSendsByThoseOfItsChannelsThatCan(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		needs := channel.Capabilities{Attachments: true}
		first, last := &provider{}, &provider{}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet},
			notify.Failover(carrier{first, channelKey}, able{h.provider, nextKey, needs}, carrier{last, lastKey}))
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, Needs: needs})
		h.ensure(letter("a", "sam"))
		h.drain()
		if m := h.row("a"); m.Status != notify.StatusSentToProvider || m.Via != nextKey || m.Calls != 1 {
			t.Fatalf("%+v", m)
		}
		h.answer = failing(busy)
		h.ensure(letter("b", "kim"))
		h.drain()
		m := h.row("b")
		if m.Status != notify.StatusRetryReady || m.RetryCount != 1 || m.Calls != 1 || !m.DueOn.After(h.clk.Now()) {
			t.Fatalf("%+v", m)
		}
		h.clk.Add(time.Second) // after what it has accepted
		h.answer = failing(revoked)
		h.letters(5)
		h.drain()
		h.ensure(letter("c", "leo"))
		h.drain()
		if m = h.row("c"); m.Status != notify.StatusRetryReady || m.Calls != 0 || !m.DueOn.After(h.clk.Now()) {
			t.Fatalf("the one that can is out: %+v", m)
		}
		h.answer = nil
		h.clk.Add(time.Hour)
		h.drain()
		for _, m := range all(h, notify.Messages) {
			if m.Status != notify.StatusSentToProvider || m.Via != nextKey {
				t.Errorf("%+v", m)
			}
		}
		if n := len(first.sent()) + len(last.sent()); n != 0 {
			t.Errorf("%d calls of channels that cannot", n)
		}
	})
}
