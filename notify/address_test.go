package notify

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
)

func TestAddressesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"email", " Sam.Miller@EXAMPLE.Com ", "Sam.Miller@example.com"},
		{"email", "sam+tag@example.com", "sam+tag@example.com"},
		{"sms", "+353 87 123 4567", "+353871234567"},
		{"whatsapp", "+353-(0)87-1234567", "+353871234567"},
		{"webhook", " https://example.com/Path ", "https://example.com/Path"},
	} {
		got, err := normalise(c[0], c[1])
		if err != nil || got != c[2] {
			t.Errorf("%s %q: %q, %v", c[0], c[1], got, err)
		}
	}
}

func TestAddressesThatCannotBeReachedAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"email", ""}, {"email", "  "}, {"email", "sam"}, {"email", "sam@"}, {"email", "Sam <sam@example.com>"},
		{"email", "sam@example.com, kim@example.com"}, {"email", "sam@example.com\r\nBcc: kim@example.com"},
		{"sms", "087 123 4567"}, {"sms", "+1"}, {"sms", "call me"}, {"webhook", "a\nb"},
	} {
		got, err := normalise(c[0], c[1])
		if err == nil {
			t.Errorf("%s %q: accepted as %q", c[0], c[1], got)
		} else if c[1] != "" && strings.Contains(err.Error(), c[1]) {
			t.Errorf("the error shows the address: %v", err)
		}
	}
}

// One person is reached once, however the address was typed; with a host's key
// nobody can find it from the row key.
func TestTheRecipientHashIsOfTheNormalisedAddressUnderTheHostsKey(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		secret := []byte("0123456789abcdef0123456789abcdef")
		n := New(h.store, &Options{HashKey: secret})
		n.Register(Type{Name: "visit", Renderer: visitTemplate})
		h.Notifier = n
		loud, soft := person("sam"), person("sam")
		loud.Address, loud.Name = "sam@EXAMPLE.COM", "SAM"
		soft.Address = " sam@example.com"
		h.dispatch(visit("7", loud, soft))
		h.drain()
		m := h.status(StatusCreated)
		if want := keys.RecipientHash(secret, "sam", "email", "sam@example.com"); m.RecipientHash != want || m.RowKey != want+"_email" {
			t.Errorf("hash is %s, row key %s", m.RecipientHash, m.RowKey)
		}
		if m.HashKey != keys.Fingerprint(secret) {
			t.Errorf("fingerprint is %q", m.HashKey)
		}
	})
}
