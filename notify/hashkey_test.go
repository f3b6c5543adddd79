package notify_test

import (
	"errors"
	"testing"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func TestAnotherHashKeyThanTheFirstOneIsRefused(t *testing.T) {
	first, other := []byte("0123456789abcdef0123456789abcdef"), []byte("fedcba9876543210fedcba9876543210")
	visits(t, func(t *testing.T, h *host) {
		reopen := func(key []byte, former ...[]byte) {
			h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, HashKey: key, FormerHashKeys: former}, h.provider)
			h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		}
		generate := func() error {
			for _, p := range h.Passes() {
				if p.Name() == "notify.generator" {
					_, err := p.Runner(work.Options{Logger: quiet}).Poll(t.Context(), 10)
					return err
				}
			}
			return nil
		}
		reopen(first)
		h.dispatch(visit("7", person("sam")))
		h.drain()
		h.dispatch(visit("8", person("sam")))
		h.run("notify.scheduler")
		for name, key := range map[string][]byte{"another": other, "none": nil} {
			reopen(key)
			if err := generate(); !errors.Is(err, notify.ErrHashKey) {
				t.Errorf("%s: generating: %v", name, err)
			}
			for range 2 {
				_, err := h.EnsureOutgoingMessage(t.Context(), nil, letter("a", "sam"))
				inTx := h.store.InTx(t.Context(), func(tx storage.Tx) error {
					_, err := h.EnsureOutgoingMessage(t.Context(), tx, letter("a", "sam"))
					return err
				})
				if !errors.Is(err, notify.ErrHashKey) || !errors.Is(inTx, notify.ErrHashKey) {
					t.Errorf("%s: ensuring: %v, %v", name, err, inTx)
				}
			}
		}
		h.same("messages", 1, len(all(h, notify.Messages)))
		reopen(first)
		if err := h.Contacts().RotateHashKey(t.Context(), support, nil); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("rotated to itself: %v", err)
		}
		reopen(other, first)
		if err := h.Contacts().RotateHashKey(t.Context(), support, nil); err != nil {
			t.Fatal(err)
		}
		h.drain()
		fingerprints := map[string]int{}
		for _, m := range all(h, notify.Messages) {
			fingerprints[m.HashKey]++
		}
		h.same("fingerprints", 2, len(fingerprints))
		reopen(first)
		if err := generate(); !errors.Is(err, notify.ErrHashKey) {
			t.Errorf("the former key: %v", err)
		}
	})
}

// A host's transaction that is rolled back leaves no key behind.
func TestAHashKeyThatWasRolledBackIsNotTheFirstOne(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		err := h.store.InTx(t.Context(), func(tx storage.Tx) error {
			for range 2 {
				if _, err := h.EnsureOutgoingMessage(t.Context(), tx, letter("a", "sam")); err != nil {
					return err
				}
			}
			return errLost
		})
		if !errors.Is(err, errLost) {
			t.Fatal(err)
		}
		other := notify.New(h.store, &notify.Options{Logger: quiet, HashKey: []byte("0123456789abcdef")}, h.provider)
		if _, err := other.EnsureOutgoingMessage(t.Context(), nil, letter("a", "sam")); err != nil {
			t.Fatal(err)
		}
		if _, err := h.EnsureOutgoingMessage(t.Context(), nil, letter("b", "sam")); !errors.Is(err, notify.ErrHashKey) {
			t.Error(err)
		}
	})
}

// One person is reached once, however the address was typed; with a host's key
// nobody can find it from the row key.
func TestTheRecipientHashIsOfTheNormalisedAddressUnderTheHostsKey(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		secret := []byte("0123456789abcdef0123456789abcdef")
		n := notify.New(h.store, &notify.Options{HashKey: secret})
		n.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.Notifier = n
		loud, soft := person("sam"), person("sam")
		loud.Address, loud.Name = "sam@EXAMPLE.COM", "SAM"
		soft.Address = " sam@example.com"
		h.dispatch(visit("7", loud, soft))
		h.drain()
		m := h.status(notify.StatusCreated)
		if want := keys.RecipientHash(secret, "sam", "email", "sam@example.com"); m.RecipientHash != want || m.RowKey != want+"_email" {
			t.Errorf("hash is %s, row key %s", m.RecipientHash, m.RowKey)
		}
		if m.HashKey != keys.Fingerprint(secret) {
			t.Errorf("fingerprint is %q", m.HashKey)
		}
	})
}

// hashKeyOf is a key with a name; without one it is the plain hash.
func hashKeyOf(name string) []byte {
	if name == "" {
		return nil
	}
	return []byte(name + " 0123456789abcdef")
}

// rotating is a host whose process can be started anew under other keys.
func rotating(t *testing.T, test func(t *testing.T, h *host, reopen func(key string, former ...string))) {
	visits(t, func(t *testing.T, h *host) {
		test(t, h, func(key string, former ...string) {
			o := &notify.Options{Logger: quiet, HashKey: hashKeyOf(key), Unsubscribe: unsubscribe}
			for _, f := range former {
				o.FormerHashKeys = append(o.FormerHashKeys, hashKeyOf(f))
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
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.HardBounce, support, gone); err != nil {
			t.Fatal(err)
		}
		h.ensure(letter("hello", "kim", stranger))
		h.drain()
		if err := h.Contacts().Unsubscribe(t.Context(), h.tokens()["hello"], notify.LeaveAll); err != nil {
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
			h.same("bounced", reasons.Suppressed, h.row("bounced "+keys[0]).ReasonCode)
			h.same("stranger", reasons.OptedOut, h.row("stranger "+keys[0]).ReasonCode)
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
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.HardBounce, support, gone); err != nil {
			t.Fatal(err)
		}
		h.ensure(letter("hello", "sam"))
		reopen("second")
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.Complaint, support, gone); err != nil { // as the provider's own list has it
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
		h.same("bounced", reasons.Suppressed, h.row("bounced").ReasonCode)
		h.same("list", []string{"Complaint Support"}, h.suppressions("tenant"))
		h.same("audit", 1, len(h.actionsIn("", "recipient_hash_key", "recipients")))
	})
}
