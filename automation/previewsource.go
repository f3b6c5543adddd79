package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
)

// PreviewSource says what a reminder type wants for a source now: a finding for each
// candidate, in the order of their moments, with its key, its moment and what becomes of
// it: its row exists or has ended, its moment had passed, its local time does not exist,
// its setting is off, its condition is not met, or nobody has asked for it yet. A
// [CandidatesProvider] is asked by what it is; other providers with an [ExplainEvent].
// Nothing is written. The error is for a type that is not registered here or has no
// provider, for a provider that fails, and for a candidate that is refused.
func (s *Scheduler) PreviewSource(ctx context.Context, scope Scope, reminderType string, source Source) ([]Finding, error) {
	out, err := s.explainer().previewSource(within(ctx, s.tx), scope, reminderType, source)
	if err != nil {
		return nil, fmt.Errorf("automation: PreviewSource: %w", err)
	}
	return out, nil
}

func (s explainer) previewSource(ctx context.Context, scope Scope, name string, source Source) ([]Finding, error) {
	t, ok := s.registry.reminder(name)
	if !ok || t.Triggers == nil {
		return nil, fmt.Errorf("no reminder type %.40q with a provider is registered here", name)
	}
	if field, err := checkTenancy(scope, ""); err != nil {
		return nil, fmt.Errorf("%s %w", field, err)
	}
	if _, err := keys.Join(source.Type, source.ID); err != nil {
		return nil, err
	}
	candidates, err := s.candidatesNow(ctx, t, scope, source)
	if err != nil {
		return nil, err
	}
	plans, err := s.planner().plansOf(ctx, name, scope, source, candidates)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, p := range plans {
		ids = append(ids, p.want.Setting)
	}
	slices.Sort(ids)
	off, err := s.planner().inactive(ctx, scope, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	out, err := s.findAll(ctx, plans, off)
	slices.SortStableFunc(out, func(a, b Finding) int { return a.ScheduledOn.Compare(b.ScheduledOn) })
	return out, err
}

// candidatesNow asks a type about one source without an event of the host.
func (s explainer) candidatesNow(ctx context.Context, t ReminderType, scope Scope, source Source) (c []Candidate, err error) {
	if provider, ok := t.candidates(); ok {
		answers, errs := candidatesOf(ctx, provider, []ScopedSource{{scope, source}})
		return answers[0].Candidates, errors.Join(errs...)
	}
	err = work.Guard(func() error {
		c, err = t.Triggers.Candidates(ctx, Event{Scope: scope, Type: ExplainEvent, Source: source})
		return err
	})
	return c, err
}
