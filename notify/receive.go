package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// MaxWebhookEvents is how many events one callback may bring.
const MaxWebhookEvents = 10_000

// What can be wrong with a callback beside [ErrWebhookRefused]. Any other error of
// [Notifier.Receive] is our own failure, and the provider should repeat.
var (
	// ErrWebhookUnreadable is a callback that is genuine and cannot be understood.
	ErrWebhookUnreadable = errors.New("notify: webhook cannot be read")
	// ErrWebhookTooLarge is a callback with more than MaxWebhookEvents.
	ErrWebhookTooLarge = errors.New("notify: webhook with too many events")
)

// Receive has w prove and read a callback, and tracks its events. The time of the
// request is the store's. Events that say too little are counted as refused, and
// do not stop the others. A panic of w is an error, which holds nothing of the
// callback, as no error of Receive does.
func (n *Notifier) Receive(ctx context.Context, w Webhook, r WebhookRequest) (TrackReport, error) {
	r.Now = storage.Now(n.store)
	var events []StatusEvent
	err := work.Guard(func() (err error) {
		events, err = w.Events(r)
		return err
	})
	n.logPanic("a webhook panicked", err, slog.String("provider", w.Provider()))
	var panicked *work.PanicError
	switch {
	case errors.Is(err, ErrWebhookRefused):
		return TrackReport{}, ErrWebhookRefused
	case errors.As(err, &panicked):
		return TrackReport{}, fmt.Errorf("notify: webhook of %s: %w", w.Provider(), panicked)
	case err != nil:
		return TrackReport{}, ErrWebhookUnreadable
	case len(events) > MaxWebhookEvents:
		return TrackReport{}, ErrWebhookTooLarge
	}
	usable := make([]StatusEvent, 0, len(events))
	for _, e := range events {
		e.Provider = w.Provider()
		if e.check() == nil {
			usable = append(usable, e)
		}
	}
	rep, err := n.Track(ctx, usable...)
	rep.Refused = len(events) - len(usable)
	return rep, err
}
