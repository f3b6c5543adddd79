package notify

import (
	"testing"

	"github.com/belfry-go/belfry/storage"
)

func TestASuppressedAddressGetsNothingOrOnlyWhatIsMandatory(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	gated(t, func(store storage.Store) *Options {
		return &Options{HashKey: key, Gates: Gates(store, &GateOptions{HashKey: key})}
	}, func(t *testing.T, h *host) {
		h.Register(Type{Name: "reset", Mandatory: true})
		mandatory := func(m *OutgoingMessage) { m.NotificationType = "reset" }
		h.inOne(func(tx storage.Tx) error {
			_, err := suppressions.Ensure(t.Context(), tx, renew,
				h.suppression("tenant", Destination{"email", "gone@example.com"}, HardBounce, h.clk.Now(), "test", "id"),
				h.suppression("tenant", Destination{"email", "angry@example.com"}, Complaint, h.clk.Now(), "test", "id"))
			return err
		})
		h.ensure(letter("a", "gone"), letter("b", "gone", mandatory), letter("c", "angry"), letter("d", "angry", mandatory),
			letter("e", "sam"), letter("f", "gone", in("another")))
		h.drain()
		h.same("sent", map[string]int{"d": 1, "e": 1, "f": 1}, h.texts())
		for _, text := range []string{"a", "b", "c"} {
			if m := h.row(text); m.Status != StatusSkipped || m.ReasonCode != ReasonSuppressed {
				t.Errorf("%s is %+v", text, m)
			}
		}
	})
}
