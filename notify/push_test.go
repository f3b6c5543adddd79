package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

const pushKey = "push:test"

func device(ref, token string) notify.Recipient {
	return notify.Recipient{Ref: ref, Channel: pushKey, Address: token}
}

// A person's devices are addresses of their own: one that is gone gets nothing any more,
// the others do.
func TestATokenThatIsGoneIsSuppressedAndNotItsOwner(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.with(nil, carrier{h.provider, pushKey})
		h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.To == "phone" {
				return channel.Receipt{}, channel.Permanent("UNREGISTERED", nil).Suppressing(channel.HardBounce)
			}
			return channel.Receipt{}, nil
		}
		for i := range 2 {
			h.dispatch(visit(fmt.Sprint(i), device("sam", "phone"), device("sam", "tablet"), device("kim", "watch")))
			h.drain()
		}
		to := map[string]int{}
		for _, m := range h.sent() {
			to[m.To]++
		}
		h.same("calls", map[string]int{"phone": 1, "tablet": 2, "watch": 2}, to)
		ended := map[string]int{}
		for _, m := range all(h, notify.Messages) {
			ended[m.RecipientRef+" "+m.Status+" "+m.ReasonCode]++
		}
		h.same("messages", map[string]int{"sam FailedFinal UNREGISTERED": 1, "sam Skipped Suppressed": 1, "sam SentToProvider ": 2, "kim SentToProvider ": 2}, ended)
	})
}

// What a message is the latest word on, and until when it is of use, reach the channel.
func TestCollapseKeyAndEndOfValidityReachTheChannel(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, carrier{h.provider, pushKey})
		h.Register(notify.Type{Name: "visit", Validity: time.Hour, Renderer: notify.RendererFunc(func(_ context.Context, j notify.Job, _ notify.Recipient) (notify.Content, error) {
			return notify.Content{Subject: "Soon", CollapseKey: "car:" + j.Entity}, nil
		})})
		h.dispatch(visit("7", device("sam", "phone")))
		h.drain()
		if all := h.sent(); len(all) != 1 || all[0].CollapseKey != "car:7" || !all[0].ValidUntil.Equal(storetest.Start.Add(time.Hour)) {
			t.Errorf("%+v", all)
		}
	})
}

func TestACollapseKeyIsOneThatEveryDeviceTakes(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		for key, ok := range map[string]bool{"": true, "car:7_a-b.c": true, strings.Repeat("k", 64): true, strings.Repeat("k", 65): false, "canary 7": false, "canary\r\n": false, "ü": false} {
			m := letter("x", "sam", func(m *notify.OutgoingMessage) { m.Content.CollapseKey = key })
			m.PartitionKey += fmt.Sprintf("%x", key)
			_, err := h.EnsureOutgoingMessage(h.t.Context(), nil, m)
			if (err == nil) != ok || err != nil && (!errors.Is(err, channel.ErrContent) || strings.Contains(err.Error(), "canary")) {
				h.t.Errorf("%q: %v", key, err)
			}
		}
	})
}
