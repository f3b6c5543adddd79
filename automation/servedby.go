package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
)

// servedBy finds the reminder type that serves the setting of a: the one of that
// name, or the first whose provider speaks for it. It sets the cause if none does.
func (s *Scheduler) servedBy(ctx context.Context, a *Absence) string {
	if _, ok := s.registry.handler(a.Setting); ok {
		a.Cause, a.Detail = CauseNoProvider, "it is a type of the host's own"
		return ""
	}
	if t, ok := s.registry.reminder(a.Setting); ok {
		if t.Triggers == nil {
			a.Cause = CauseNoProvider
		}
		return a.Setting
	}
	for _, name := range slices.Sorted(slices.Values(s.registry.types())) {
		if t, ok := s.registry.reminder(name); ok && t.Triggers != nil && a.spokenFor(ctx, t) {
			return name
		}
	}
	a.Cause = CauseNoSuchType
	return ""
}

// event asks a provider about the source of a.
func (a *Absence) event() Event { return Event{Scope: a.Scope, Type: ExplainEvent, Source: a.Source} }

// spokenFor reports whether the provider of t speaks for the setting of a. One
// that fails does not.
func (a *Absence) spokenFor(ctx context.Context, t ReminderType) bool {
	spoken := false
	_ = work.Guard(func() error {
		if lister, ok := t.Triggers.(SettingLister); ok {
			settings, err := lister.Settings(ctx, a.event())
			if spoken = slices.Contains(settings, a.Setting); err != nil || spoken {
				return err
			}
		}
		candidates, err := t.Triggers.Candidates(ctx, a.event())
		spoken = slices.ContainsFunc(candidates, func(c Candidate) bool { return c.Setting == a.Setting })
		return err
	})
	return spoken
}

// planMissing is what the provider of a type wants for the setting of a. It sets
// the cause if that is nothing, or cannot be.
func (s *Scheduler) planMissing(ctx context.Context, a *Absence, name string) []plan {
	t, _ := s.registry.reminder(name)
	var candidates []Candidate
	err := work.Guard(func() (err error) {
		candidates, err = t.Triggers.Candidates(ctx, a.event())
		return err
	})
	if err != nil {
		a.Cause, a.Detail = CauseProviderFailed, storable(err.Error())
		return nil
	}
	plans, err := s.plansOf(ctx, name, a.Scope, a.Source, candidates)
	if err != nil {
		a.refuse(err)
		return nil
	}
	plans = slices.DeleteFunc(plans, func(p plan) bool { return p.want.Setting != a.Setting })
	if len(plans) == 0 {
		a.Cause = CauseProviderGaveNone
		if len(candidates) > 0 {
			a.Detail = fmt.Sprintf("it gave %d of other settings", len(candidates))
		}
	}
	return plans
}

// refuse says what is wrong with a candidate.
func (a *Absence) refuse(err error) {
	a.Cause, a.Detail = CauseCandidateRefused, storable(err.Error())
	var refused *CandidateError
	if errors.As(err, &refused) && refused.Field == "Zone" {
		a.Cause = CauseZoneUnknown
	}
}
