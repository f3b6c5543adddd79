package survey

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// NotificationType is what gates, pauses, caps and preferences of package notify
// call the sends of this package.
const NotificationType = "survey"

// minDefer is how long a send waits at least that a gate does not let out: pauses
// and a copied database say "now", and are asked again.
const minDefer = time.Minute

// askGates asks the gates in order, each about what those before it let through.
// It comes before the call-started write, so that a crash here leaves nothing in
// doubt.
func (s *Service) askGates(ctx context.Context, items []*sending) []*sending {
	for _, g := range s.gates {
		if len(items) > 0 {
			items = s.askGate(ctx, g, items)
		}
	}
	return items
}

func (s *Service) askGate(ctx context.Context, g notify.Gate, items []*sending) (open []*sending) {
	attempts := make([]notify.Attempt, len(items))
	for i, it := range items {
		attempts[i] = s.attempt(it)
	}
	verdicts, err := s.verdicts(ctx, g, attempts)
	if err != nil && ctx.Err() == nil {
		s.options.Logger.ErrorContext(ctx, "belfry: a gate failed, and lets nothing through", slog.String("gate", fmt.Sprintf("%T", g)), slog.Int("links", len(items)))
	}
	for i, it := range items {
		if err != nil {
			s.untried(it, ReasonGateFailed, nil)
		} else if s.apply(it, verdicts[i]) {
			open = append(open, it)
		}
	}
	return open
}

// verdicts asks one gate. Anything but one verdict that means something for each
// attempt is an error, which is not logged: it may hold personal data.
func (s *Service) verdicts(ctx context.Context, g notify.Gate, a []notify.Attempt) (verdicts []notify.Verdict, err error) {
	err = work.Guard(func() (err error) {
		verdicts, err = g.Ask(ctx, a)
		return err
	})
	s.logPanic("a gate panicked", err, slog.String("gate", fmt.Sprintf("%T", g)))
	if err != nil {
		return nil, err
	}
	if len(verdicts) != len(a) {
		return nil, fmt.Errorf("survey: gate %T gave %d verdicts for %d attempts", g, len(verdicts), len(a))
	}
	for _, v := range verdicts {
		switch v.Action {
		case notify.ActionProceed, notify.ActionDefer, notify.ActionSkip:
		default:
			return nil, fmt.Errorf("survey: gate %T: %.40q is no action", g, string(v.Action))
		}
	}
	return verdicts, nil
}

// apply reports whether the link may go out now. A wait counts no try, and is not
// longer than the row's own limits; a skip stops the schedule.
func (s *Service) apply(it *sending, v notify.Verdict) bool {
	r, now := it.Row, storage.Now(s.store)
	switch v.Action {
	case notify.ActionDefer:
		r.NextTryOn = storage.Time(later(v.Until, now.Add(minDefer)))
		r.ReasonCode = storable.Code(v.Reason)
		return false
	case notify.ActionSkip:
		reason := cmp.Or(storable.Code(v.Reason), DeliverySkipped)
		r.logNoCall(now, DeliverySkipped, reason)
		r.stop(now, reason)
		return false
	}
	it.redirect = cmp.Or(v.To, it.redirect)
	return true
}

// attempt is what gates are told. They know a recipient by the customer reference
// over all that the host sends, or else by method and address.
func (s *Service) attempt(it *sending) notify.Attempt {
	r, method := it.Row, notify.Method(it.Row.Channel)
	var hashKey []byte
	if s.options.Gates != nil {
		hashKey = s.options.Gates.HashKey
	}
	return notify.Attempt{
		Scope: r.Scope, MessageID: it.message.ID, Number: it.message.Attempt,
		NotificationType: NotificationType, BusinessUnit: r.BusinessUnit, Channel: r.Channel, Method: method,
		RecipientRef: r.CustomerRef, RecipientHash: keys.RecipientHash(hashKey, r.CustomerRef, method, it.message.To),
		Address: it.message.To, Lane: r.Lane, Urgent: r.Lane == storage.LaneUrgent, Now: storage.Now(s.store),
	}
}
