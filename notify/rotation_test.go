package notify_test

import (
	"errors"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

// rotating is a host whose process can be started anew under other keys.
func rotating(t *testing.T, test func(t *testing.T, h *host, reopen func(key string, former ...string))) {
	visits(t, func(t *testing.T, h *host) {
		test(t, h, func(key string, former ...string) {
			o := &notify.Options{Logger: quiet, HashKey: []byte(key), Unsubscribe: unsubscribe}
			for _, f := range former {
				o.FormerHashKeys = append(o.FormerHashKeys, []byte(f))
			}
			h.Notifier = notify.New(h.store, o, h.provider)
			h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		})
	})
}

var gone = notify.Destination{"email", "gone@example.com"}

// A bounce and a stranger's opt-out are known by hashes only.
func TestARotationOfTheHashKeyForgetsNobody(t *testing.T) {
	stranger := func(m *notify.OutgoingMessage) { m.RecipientRef = "" }
	rotating(t, func(t *testing.T, h *host, reopen func(string, ...string)) {
		reopen("first")
		if err := h.Contacts().Suppress(t.Context(), "tenant", notify.HardBounce, support, gone); err != nil {
			t.Fatal(err)
		}
		h.ensure(letter("hello", "kim", stranger))
		h.drain()
		if err := h.Contacts().Unsubscribe(t.Context(), h.tokens()["hello"], true); err != nil {
			t.Fatal(err)
		}
		for key, former := range map[string][]string{"second": nil, "third": {"second", ""}} {
			reopen(key, former...)
			for _, opts := range []*notify.RotateOptions{nil, {}} {
				if err := h.Contacts().RotateHashKey(t.Context(), support, opts); !errors.Is(err, notify.ErrActionRefused) {
					t.Errorf("%s: the former key is missing: %v", key, err)
				}
			}
		}
		for _, keys := range [][]string{{"second", "first"}, {"third", "second", "first"}} {
			reopen(keys[0], keys[1:]...)
			if err := h.Contacts().RotateHashKey(t.Context(), support, nil); err != nil {
				t.Fatal(err)
			}
			h.ensure(letter("bounced "+keys[0], "gone"), letter("stranger "+keys[0], "kim", stranger), letter("fine "+keys[0], "sam"))
			h.drain()
			h.same("bounced", notify.ReasonSuppressed, h.row("bounced "+keys[0]).ReasonCode)
			h.same("stranger", notify.ReasonOptedOut, h.row("stranger "+keys[0]).ReasonCode)
			h.same("fine", notify.StatusSentToProvider, h.row("fine "+keys[0]).Status)
			h.same("list", []string{"HardBounce Support"}, h.suppressions("tenant"))
		}
		reopen("third", "second")
		if _, err := h.EnsureOutgoingMessage(t.Context(), nil, letter("later", "gone")); !errors.Is(err, notify.ErrHashKey) {
			t.Errorf("without the first key: %v", err)
		}
		reopen("third", "first", "second")
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", gone, support); err != nil {
			t.Fatal(err)
		}
		h.same("list", []string(nil), h.suppressions("tenant"))
	})
}

func TestALostHashKeyIsForgottenOnlyIfSomebodySaysSo(t *testing.T) {
	rotating(t, func(t *testing.T, h *host, reopen func(string, ...string)) {
		reopen("first")
		if err := h.Contacts().Suppress(t.Context(), "tenant", notify.HardBounce, support, gone); err != nil {
			t.Fatal(err)
		}
		h.ensure(letter("hello", "sam"))
		reopen("second")
		if err := h.Contacts().Suppress(t.Context(), "tenant", notify.Complaint, support, gone); err != nil { // as the provider's own list has it
			t.Fatal(err)
		}
		forget := &notify.RotateOptions{Forget: true}
		if err := h.Contacts().RotateHashKey(t.Context(), support, forget); err != nil {
			t.Fatal(err)
		}
		if err := h.Contacts().RotateHashKey(t.Context(), support, forget); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("again: %v", err)
		}
		h.ensure(letter("bounced", "gone"))
		h.drain()
		h.same("bounced", notify.ReasonSuppressed, h.row("bounced").ReasonCode)
		h.same("list", []string{"Complaint Support"}, h.suppressions("tenant"))
		h.same("audit", 1, len(h.actionsIn("", "recipient_hash_key", "recipients")))
	})
}
