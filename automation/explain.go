package automation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Explain tells the story of a key: which setting and event made it, what
// happened, and what would happen now and why not. For a pending row of a
// reminder that is registered here it asks settings, validator, recipients and
// policy as the due pass would, and writes nothing. A key without a row is
// explained as well; the error is for what could not be read.
func (s *Scheduler) Explain(ctx context.Context, scope Scope, key string) (Explanation, error) {
	e := Explanation{Scope: scope, Key: key}
	err := s.inTx(ctx, func(tx storage.Tx) error {
		e = Explanation{Scope: scope, Key: key}
		var err error
		if e.Series, err = seriesState(ctx, tx, scope, key); err != nil {
			return err
		}
		row, err := schedules.Get(ctx, tx, scope, key)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			e.Condition, err = loadCondition(ctx, tx, scope, key)
			return err
		case err != nil:
			return err
		}
		e.Schedule = row
		return s.tellStory(ctx, tx, &e)
	})
	if err != nil {
		return Explanation{}, fmt.Errorf("automation: Explain: %w", err)
	}
	e.Now = s.prospect(within(ctx, s.tx), e)
	return e, nil
}

// prospect says what would happen to the row now.
func (s *Scheduler) prospect(ctx context.Context, e Explanation) string {
	r := e.Schedule
	if r == nil {
		if why := e.Condition.missing(); why != "" {
			return why
		}
		if _, err := keys.Parse(e.Key); err != nil {
			return "there is no row, and there can be none: " + err.Error()
		}
		return "there is no row: nobody asked for it in this scope, or its moment had passed when somebody did"
	}
	switch {
	case r.IsOnSupportHold:
		return "nothing, until support releases it"
	case r.Status == StatusCompleted:
		return "nothing more: delivery work is queued, which does not say that it arrived"
	case r.inShadow():
		return "nothing: the old scheduler owns the run, until the roll-out moves on"
	case !r.IsOpen():
		return "nothing, unless it is asked for again"
	case r.Status == StatusProcessing && r.LeaseExpiresOn.After(s.now()):
		return "a worker has it"
	case r.Status == StatusProcessing:
		return "its worker is gone: the next poll counts a lost lease and puts it back" + e.stopped()
	}
	return s.when(r) + e.stopped() + s.rehearse(ctx, r)
}

func (s *Scheduler) when(r *Schedule) string {
	if now := s.now(); r.DueOn.After(now) {
		return fmt.Sprintf("it waits until %s (%s more)", stampText(r.DueOn), wait(r.DueOn.Sub(now)))
	}
	return "it is due"
}

// wait is a duration as people say it.
func wait(d time.Duration) string {
	if days := int(d.Hours() / 24); days >= 2 {
		return fmt.Sprintf("%d days", days)
	}
	return d.Round(time.Second).String()
}

// rehearse takes a copy of the row through the steps of the due pass.
func (s *Scheduler) rehearse(ctx context.Context, row *Schedule) string {
	if _, ok := s.registry.handler(row.Type); ok {
		return "; its handler is asked then"
	}
	if _, ok := s.registry.reminder(row.Type); !ok {
		return "; no process like this one serves it, since its type is not registered here"
	}
	r := *row
	switch t := s.tryOut(ctx, &r); {
	case t.err != nil:
		return fmt.Sprintf("; as things are, the step %q would fail: %s", t.at, storable(t.err.Error()))
	case t.stop != "":
		return fmt.Sprintf("; as things are, it would end as Deactivated, %s", t.stop)
	default:
		return fmt.Sprintf("; as things are, delivery would be queued (recipients: %d)", len(t.to))
	}
}
