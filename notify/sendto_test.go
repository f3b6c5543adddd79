package notify_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// sendTo sends the message of a text to another address.
func (h *host) sendTo(text, address string) (notify.OutgoingMessage, error) {
	h.t.Helper()
	return h.Support().SendTo(h.t.Context(), "tenant", h.row(text).Key, address, support)
}

// A message goes once more to another address: as another message, with an id of its own,
// however stale it is. The first one stays as it is.
func TestAMessageGoesOnceMoreToAnotherAddress(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("a", "sam", func(m *notify.OutgoingMessage) { m.ValidUntil = h.clk.Now().Add(time.Hour) }))
		h.drain()
		first := h.row("a")
		h.clk.Add(2 * time.Hour)
		got, err := h.Support().SendTo(t.Context(), "tenant", first.Key, " Sam@NEW.example", support)
		if err != nil {
			t.Fatal(err)
		}
		h.same("address", "Sam@new.example", got.Address)
		if got.MessageID == "" || got.MessageID == first.MessageID || got.AttemptNo != 1 || got.RecipientHash == first.RecipientHash || !got.ValidUntil.IsZero() || got.NextRetryOn.IsZero() {
			t.Errorf("%+v", got)
		}
		if _, err := h.Support().SendTo(t.Context(), "tenant", first.Key, "sam@new.example", support); !errors.Is(err, notify.ErrActionRefused) || !strings.Contains(err.Error(), "next attempt") {
			t.Errorf("a second click: %v", err)
		}
		h.drain()
		sent := h.sent()
		if len(sent) != 2 || sent[1].To != got.Address || sent[1].ID != got.MessageID || sent[1].Text != "a" {
			t.Errorf("sent %+v", sent)
		}
		h.same("audit", []string{"SendTo by kim: SentToProvider to SentToProvider"}, h.actions("outgoing_message", first.Key))
		stays, err := h.Support().MessagesByKey(t.Context(), "tenant", first.Key)
		if err != nil || len(stays) != 1 || stays[0].Address != first.Address || stays[0].MessageID != first.MessageID {
			t.Errorf("%+v, %v", stays, err)
		}
	})
}

func TestWhatIsNotSentToAnotherAddress(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "over", Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (gate.Verdict, error) {
			return gate.Skip("Over"), nil
		})})
		h.ensure(letter("sent", "sam"))
		h.drain()
		h.ensure(letter("waiting", "kim"))
		stopped := notify.Destination{Method: "email", Address: "stopped@example.com"}
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.HardBounce, support, stopped); err != nil {
			t.Fatal(err)
		}
		for why, err := range map[string]func() (notify.OutgoingMessage, error){
			"that is not an address for email":     func() (notify.OutgoingMessage, error) { return h.sendTo("sent", "nowhere") },
			"it went to that address already":      func() (notify.OutgoingMessage, error) { return h.sendTo("sent", "SAM@example.com ") },
			"messages to that address are stopped": func() (notify.OutgoingMessage, error) { return h.sendTo("sent", stopped.Address) },
			"it is Created, and is not sent again": func() (notify.OutgoingMessage, error) { return h.sendTo("waiting", "new@example.com") },
		} {
			if got, err := err(); !errors.Is(err, notify.ErrActionRefused) || !strings.HasSuffix(err.Error(), why) || got.Key != "" {
				t.Errorf("%v, want %s", err, why)
			}
		}
		if _, err := h.Support().SendTo(t.Context(), "another", h.row("sent").Key, "new@example.com", support); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
		if _, err := h.Support().SendTo(t.Context(), "tenant", h.row("sent").Key, "new@example.com", notify.By{Actor: "kim"}); err == nil {
			t.Error("no reason was given")
		}
		h.same("messages", 2, len(all(h, notify.Messages)))
		h.same("audit", []string(nil), h.actions("outgoing_message", h.row("sent").Key))
	})
}

// Who has left, or complained, is not written to at another address; who cannot be reached
// at the first one is.
func TestWhoHasLeftIsNotWrittenToElsewhere(t *testing.T) {
	const bounced, left, complained = channel.HardBounce, channel.Unsubscribe, channel.Complaint
	mandatory := func(m *notify.OutgoingMessage) { m.Mandatory = true }
	requested := func(m *notify.OutgoingMessage) { m.Requested = true }
	optedOut := func(h *host) {
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "sam", OptedOut: true})
	}
	stopped := func(h *host) {
		if err := h.Contacts().Stop(h.t.Context(), "tenant", "sam", "", support); err != nil {
			h.t.Fatal(err)
		}
	}
	const url = "https://example.com/u/"
	clicked := func(h *host) {
		token := strings.TrimPrefix(h.sent()[0].UnsubscribeURL, url)
		if err := h.Contacts().Unsubscribe(h.t.Context(), token, notify.LeaveAll); err != nil {
			h.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		reasons []channel.SuppressionReason
		change  func(*notify.OutgoingMessage)
		also    func(h *host)
		refused bool
	}{
		"a bounce":                               {reasons: []channel.SuppressionReason{bounced}},
		"an unsubscription":                      {reasons: []channel.SuppressionReason{left}, refused: true},
		"a complaint":                            {reasons: []channel.SuppressionReason{complained}, refused: true},
		"a bounce behind a complaint":            {reasons: []channel.SuppressionReason{bounced, complained}, refused: true},
		"a bounce behind an unsubscription":      {reasons: []channel.SuppressionReason{bounced, left}, refused: true},
		"an unsubscription and an invoice":       {reasons: []channel.SuppressionReason{left}, change: mandatory},
		"a complaint and an invoice":             {reasons: []channel.SuppressionReason{complained}, change: mandatory, refused: true},
		"a complaint and a new password":         {reasons: []channel.SuppressionReason{complained}, change: requested},
		"a choice":                               {also: optedOut, refused: true},
		"a stop of support":                      {also: stopped, refused: true},
		"a stop of support, and an invoice":      {also: stopped, change: mandatory},
		"a choice, and an invoice":               {also: optedOut, change: mandatory},
		"somebody without a ref who has left it": {also: clicked, change: func(m *notify.OutgoingMessage) { m.RecipientRef = "" }, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			visitsInMemory(t, func(h *host) {
				h.with(&notify.Options{Logger: quiet, Unsubscribe: &notify.UnsubscribeOptions{URL: url, Key: []byte("0123456789abcdef0123456789abcdef")}}, h.provider)
				change := c.change
				if change == nil {
					change = func(*notify.OutgoingMessage) {}
				}
				h.ensure(letter("a", "sam", change))
				h.drain()
				for _, r := range c.reasons {
					if err := h.Contacts().Suppress(t.Context(), "tenant", r, support, notify.Destination{Method: "email", Address: "sam@example.com"}); err != nil {
						t.Fatal(err)
					}
				}
				if c.also != nil {
					c.also(h)
				}
				_, err := h.sendTo("a", "new@example.com")
				if refused := errors.Is(err, notify.ErrActionRefused); refused != c.refused || err != nil && !refused {
					t.Errorf("refused: %t, want %t: %v", refused, c.refused, err)
				}
			})
		})
	}
}

// A message that its channel was not able to address goes to an address that is one.
func TestAMessageWithABadAddressGoesToAGoodOne(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		p := person("sam")
		p.Address = "nowhere"
		h.dispatch(visit("7", p, person("kim")))
		h.drain()
		var bad *notify.MessageRow
		for _, m := range all(h, notify.Messages) {
			if m.ReasonCode == reasons.BadAddress {
				bad = m
			}
		}
		if bad == nil {
			t.Fatal("no message has a bad address")
		}
		if _, err := h.Support().SendTo(t.Context(), "tenant", bad.Key, "sam@new.example", support); err != nil {
			t.Error(err)
		}
		h.drain()
		if sent := h.sent(); len(sent) != 2 || sent[1].To != "sam@new.example" {
			t.Errorf("sent %+v", sent)
		}
	})
}

// With another key than the database's no address would be known to be suppressed, and the
// new message would have another identity.
func TestAnotherHashKeyKeepsSupportFromLookingAddressesUp(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("a", "sam"))
		h.drain()
		sam := notify.Destination{Method: "email", Address: "sam@example.com"}
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.HardBounce, support, sam); err != nil {
			t.Fatal(err)
		}
		h.with(&notify.Options{Logger: quiet, HashKey: []byte("fedcba9876543210fedcba9876543210")}, h.provider)
		if _, err := h.sendTo("a", "new@example.com"); !errors.Is(err, notify.ErrHashKey) {
			t.Errorf("SendTo: %v", err)
		}
		if found, err := h.Contacts().SuppressionsOf(t.Context(), "tenant", sam); !errors.Is(err, notify.ErrHashKey) {
			t.Errorf("SuppressionsOf: %+v, %v", found, err)
		}
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", sam, support); !errors.Is(err, notify.ErrHashKey) {
			t.Errorf("Unsuppress: %v", err)
		}
		h.same("messages", 1, len(all(h, notify.Messages)))
	})
}
