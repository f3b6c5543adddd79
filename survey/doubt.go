package survey

import (
	"context"
	"log/slog"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// resolveDoubts settles the sends of which nobody knows whether they were made, and
// returns the others: the provider is asked if it can tell, once, and else the
// policy decides. In a copy of the database they stay as they are.
func (s *Service) resolveDoubts(ctx context.Context, items []*sending) (open []*sending) {
	var doubts []*sending
	for _, it := range items {
		if it.Row.InDoubt {
			doubts = append(doubts, it)
		} else {
			open = append(open, it)
		}
	}
	each(s.outsideQuarantine(ctx, doubts), s.resolve)
	return open
}

// outsideQuarantine leaves out doubts that the first of the gates, which knows
// whether the database is a copy, does not let anybody ask about.
func (s *Service) outsideQuarantine(ctx context.Context, items []*sending) (open []*sending) {
	if len(items) == 0 {
		return nil
	}
	attempts := make([]notify.Attempt, len(items))
	for i, it := range items {
		it.message = messageOf(it.Row, it.Row.Calls)
		attempts[i] = s.attempt(it)
	}
	verdicts, err := s.verdicts(ctx, s.gates[0], attempts)
	for i, it := range items {
		if err == nil && verdicts[i].Action == notify.ActionProceed {
			open = append(open, it)
		} else {
			it.Row.NextTryOn = storage.Now(s.store).Add(minDefer)
		}
	}
	return open
}

func (s *Service) resolve(it *sending) {
	r, now := it.Row, storage.Now(s.store)
	switch {
	case it.trigger == nil: // the schedule is not known: it stays in doubt
		r.NextTryOn = now.Add(waits[0])
	case s.askProvider(it):
	case it.Ctx.Err() != nil: // as if it had not been claimed
	case s.options.InDoubt == Hold:
		r.hold(ReasonInDoubt)
	case s.options.InDoubt == Retry:
		r.failed(now, ReasonInDoubt, 0)
	default:
		r.sent(r.CallStartedOn, it.trigger.Schedule.Reminders)
	}
}

// askProvider reports whether the provider could tell.
func (s *Service) askProvider(it *sending) bool {
	l, ok := it.channel.(notify.StatusLookup)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(it.Ctx, s.options.CallTimeout)
	defer cancel()
	r := it.Row
	m := it.message
	m.On = r.CallStartedOn
	var answer notify.LookupResult
	err := work.Guard(func() (err error) {
		answer, err = l.Lookup(ctx, m)
		return err
	})
	s.logPanic("a status look-up panicked", err, slog.String("channel", r.Channel))
	switch now := storage.Now(s.store); {
	case err != nil:
		return false
	case answer.Status == notify.LookupAccepted:
		r.logCall(now, DeliveryDelivered, answer.Receipt.ID, "")
		r.sent(r.CallStartedOn, it.trigger.Schedule.Reminders)
	case answer.Status == notify.LookupAbsent:
		r.logCall(now, DeliveryFailed, "", ReasonAbsent)
		r.failed(now, ReasonAbsent, 0)
	default:
		return false
	}
	return true
}
