package notify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
)

// hook is a webhook made of a function.
type hook func(notify.WebhookRequest) ([]notify.StatusEvent, error)

func (hook) Provider() string { return "test" }

func (f hook) Events(r notify.WebhookRequest) ([]notify.StatusEvent, error) { return f(r) }

func TestReceiveTracksWhatTheWebhookReads(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		rep, err := h.Receive(t.Context(), hook(func(r notify.WebhookRequest) ([]notify.StatusEvent, error) {
			if !r.Now.Equal(storetest.Start) {
				t.Errorf("now is %v", r.Now)
			}
			useless := about(m, "Burnt")
			stolen := about(m, notify.KindDelivered)
			stolen.Provider = "somebody else"
			return []notify.StatusEvent{useless, stolen}, nil
		}), notify.WebhookRequest{})
		h.same("report", notify.TrackReport{Applied: 1, Refused: 1}, rep)
		if err != nil {
			t.Error(err)
		}
		h.same("provider", "test", h.event().Type)
		h.status(notify.StatusDelivered)
	})
}

func TestReceiveSaysWhatIsWrongAndNothingOfTheCallback(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		m := h.accepted()
		for name, c := range map[string]struct {
			hook hook
			want error
		}{
			"forged": {func(notify.WebhookRequest) ([]notify.StatusEvent, error) {
				return []notify.StatusEvent{about(m, notify.KindDelivered)}, notify.ErrWebhookRefused
			}, notify.ErrWebhookRefused},
			"unreadable": {func(notify.WebhookRequest) ([]notify.StatusEvent, error) { return nil, errors.New("canary") }, notify.ErrWebhookUnreadable},
			"too many": {func(notify.WebhookRequest) ([]notify.StatusEvent, error) {
				return make([]notify.StatusEvent, notify.MaxWebhookEvents+1), nil
			}, notify.ErrWebhookTooLarge},
			"panic": {func(notify.WebhookRequest) ([]notify.StatusEvent, error) { panic("canary") }, nil},
		} {
			_, err := h.Receive(h.t.Context(), c.hook, notify.WebhookRequest{})
			if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Contains(err.Error(), "canary") {
				h.t.Errorf("%s: %v", name, err)
			}
		}
		h.status(notify.StatusSentToProvider)
	})
}
