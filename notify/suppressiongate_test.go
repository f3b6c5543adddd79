package notify_test

import (
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

//spec:f-012
func TestASuppressedAddressGetsNothingOrOnlyWhatIsMandatory(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	gated(t, func(store storage.Store) *notify.Options {
		return &notify.Options{HashKey: key, Gates: gate.New(store, &gate.Options{HashKey: key})}
	}, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "reset", Mandatory: true})
		mandatory := func(m *notify.OutgoingMessage) { m.NotificationType = "reset" }
		for reason, address := range map[notify.SuppressionReason]string{notify.HardBounce: "gone@example.com", notify.Complaint: "angry@example.com"} {
			if err := h.Contacts().Suppress(t.Context(), "tenant", reason, support, notify.Destination{"email", address}); err != nil {
				t.Fatal(err)
			}
		}
		h.ensure(letter("a", "gone"), letter("b", "gone", mandatory), letter("c", "angry"), letter("d", "angry", mandatory),
			letter("e", "sam"), letter("f", "gone", in("another")))
		h.drain()
		h.same("sent", map[string]int{"d": 1, "e": 1, "f": 1}, h.texts())
		for _, text := range []string{"a", "b", "c"} {
			if m := h.row(text); m.Status != notify.StatusSkipped || m.ReasonCode != notify.ReasonSuppressed {
				t.Errorf("%s is %+v", text, m)
			}
		}
	})
}
