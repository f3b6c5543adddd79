package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// handle decides about due runs; the pass gives it one at a time.
func (s *Service) handle(ctx context.Context, due []automation.Due) ([]automation.Outcome, error) {
	out := make([]automation.Outcome, len(due))
	for i, d := range due {
		err := work.Guard(func() (err error) {
			out[i], err = s.run(ctx, d)
			return err
		})
		if err != nil {
			out[i] = automation.Outcome{Err: err}
		}
	}
	return out, nil
}

// run builds a report and says what delivers it. It writes nothing but blobs,
// which nobody keeps unless the transaction that settles the run does.
func (s *Service) run(ctx context.Context, d automation.Due) (automation.Outcome, error) {
	run, stop, err := s.load(ctx, d)
	if err != nil || stop != "" {
		return automation.Outcome{Deactivate: stop}, err
	}
	t, ok := s.types.get(d.Type)
	if !ok {
		return automation.Outcome{}, fmt.Errorf("report: type %q is not registered here", d.Type)
	}
	to, err := t.resolve(ctx, run)
	if err != nil {
		return automation.Outcome{}, err
	}
	if len(to) == 0 {
		return automation.Outcome{Deactivate: automation.NoRecipients}, nil
	}
	made, err := t.Builder.Build(ctx, run)
	if err != nil {
		return automation.Outcome{}, err
	}
	if made.Empty && !run.Subscription.Delivery.SendEmpty {
		return automation.Outcome{Deactivate: ReportEmpty, Result: notify.DispatchResult{Summary: cut(made.Summary)}}, nil
	}
	return s.deliver(ctx, t, delivery{due: d, run: run, made: made, to: to})
}

// load reads the subscription as it is now, and says why the run is not wanted.
func (s *Service) load(ctx context.Context, d automation.Due) (run Run, stop automation.Reason, err error) {
	sub, err := s.Subscription(ctx, d.Scope, d.Source.ID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return Run{}, automation.SourceNoLongerValid, nil
	case err != nil:
		return Run{}, "", err
	case sub.Status != StatusActive && (sub.Status != StatusPaused || d.Run == ""):
		return Run{}, SubscriptionInactive, nil
	}
	run = Run{
		Key: d.Key, Subscription: sub, Manual: d.Run, ScheduledOn: d.ScheduledOn, LocalDate: d.LocalDate, Zone: d.Zone, Attempt: d.Attempt,
	}
	if d.Occurrence != nil {
		run.LocalTime = d.Occurrence.LocalTime
		return run, "", nil
	}
	zone, err := civil.LoadZone(d.Zone)
	if err == nil {
		run.LocalTime = d.ScheduledOn.In(zone).Format("15:04:05")
	}
	return run, "", err
}

func (t Type) resolve(ctx context.Context, run Run) ([]notify.Recipient, error) {
	if t.Recipients == nil {
		return run.Subscription.Recipients, nil
	}
	return t.Recipients(ctx, run)
}

// cut leaves a summary at the length that a small row has room for.
func cut(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most]
	}
	return text
}
