package report

import (
	"context"

	"github.com/belfry-go/belfry/automation"
)

// source is what the runs of a subscription are about.
func source(guid string) automation.Source {
	return automation.Source{Type: automation.TypeReportSubscription, ID: guid}
}

// candidate asks for the next run of the cadence.
func (s Subscription) candidate() automation.Candidate {
	cadence := s.Cadence
	return automation.Candidate{
		Scope: s.Scope, AutomationType: automation.TypeReportSubscription, Type: s.Type, Source: source(s.GUID),
		BusinessUnit: s.BusinessUnit, Recurrence: &cadence, SendAt: s.SendAt, Zone: s.Zone, Gap: s.Gap, Overlap: s.Overlap,
	}
}

// manual asks for a run at once.
func (s Subscription) manual(run string) automation.Candidate {
	c := s.candidate()
	c.Recurrence, c.SendAt, c.Run = nil, "", run
	return c
}

// Preview lists the next n runs of a subscription as it is given, from now on and
// at most 1000; fewer if its cadence ends. It reads no row and writes nothing. An
// [*InvalidError] says what is wrong with it.
func (s *Service) Preview(ctx context.Context, sub Subscription, n int) ([]automation.Occurrence, error) {
	if sub.GUID == "" {
		sub.GUID = "preview"
	}
	if err := s.Validate(ctx, sub); err != nil {
		return nil, err
	}
	return s.scheduler.Preview(ctx, sub.candidate(), n)
}
