package notify

import (
	"errors"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
)

// hook is a webhook made of a function.
type hook func(WebhookRequest) ([]StatusEvent, error)

func (hook) Provider() string { return "test" }

func (f hook) Events(r WebhookRequest) ([]StatusEvent, error) { return f(r) }

func TestReceiveTracksWhatTheWebhookReads(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		rep, err := h.Receive(t.Context(), hook(func(r WebhookRequest) ([]StatusEvent, error) {
			if !r.Now.Equal(storetest.Start) {
				t.Errorf("now is %v", r.Now)
			}
			useless := about(m, "Burnt")
			stolen := about(m, KindDelivered)
			stolen.Provider = "somebody else"
			return []StatusEvent{useless, stolen}, nil
		}), WebhookRequest{})
		h.same("report", TrackReport{Applied: 1, Refused: 1}, rep)
		if err != nil {
			t.Error(err)
		}
		h.same("provider", "test", h.event().Type)
		h.status(StatusDelivered)
	})
}

func TestReceiveSaysWhatIsWrongAndNothingOfTheCallback(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		m := h.accepted()
		for name, c := range map[string]struct {
			hook hook
			want error
		}{
			"forged": {func(WebhookRequest) ([]StatusEvent, error) {
				return []StatusEvent{about(m, KindDelivered)}, ErrWebhookRefused
			}, ErrWebhookRefused},
			"unreadable": {func(WebhookRequest) ([]StatusEvent, error) { return nil, errors.New("canary") }, ErrWebhookUnreadable},
			"too many": {func(WebhookRequest) ([]StatusEvent, error) {
				return make([]StatusEvent, MaxWebhookEvents+1), nil
			}, ErrWebhookTooLarge},
			"panic": {func(WebhookRequest) ([]StatusEvent, error) { panic("canary") }, nil},
		} {
			_, err := h.Receive(h.t.Context(), c.hook, WebhookRequest{})
			if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Contains(err.Error(), "canary") {
				h.t.Errorf("%s: %v", name, err)
			}
		}
		h.status(StatusSentToProvider)
	})
}
