package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// eventPlan is all that providers and settings say about one event.
type eventPlan struct {
	plans     []plan
	spoken    []string        // settings whose rows are compared with plans
	off       map[string]bool // of those, the ones that are not active
	invalid   []Invalidation
	immediate Artifacts
}

// planEvent asks everybody who listens. It writes nothing.
func (s *Scheduler) planEvent(ctx context.Context, e Event, r route) (eventPlan, error) {
	var p eventPlan
	for _, step := range []func(context.Context, Event, route, *eventPlan) error{
		s.planTriggers, s.planSettings, s.planInvalidations, s.planImmediates,
	} {
		if err := step(ctx, e, r, &p); err != nil {
			return eventPlan{}, err
		}
	}
	return p, nil
}

func (s *Scheduler) planTriggers(ctx context.Context, e Event, r route, p *eventPlan) error {
	for _, name := range r.triggers {
		t, _ := s.registry.reminder(name)
		candidates, err := t.Triggers.Candidates(ctx, e)
		if err != nil {
			return fmt.Errorf("automation: candidates of %s: %w", name, err)
		}
		plans, err := s.plansOf(ctx, name, e.Scope, e.Source, candidates)
		if err != nil {
			return err
		}
		p.plans = append(p.plans, plans...)
		p.spoken = append(p.spoken, name)
		if lister, ok := t.Triggers.(SettingLister); ok {
			settings, err := lister.Settings(ctx, e)
			if err != nil {
				return fmt.Errorf("automation: settings of %s: %w", name, err)
			}
			p.spoken = append(p.spoken, settings...)
		}
	}
	for _, plan := range p.plans {
		p.spoken = append(p.spoken, plan.want.Setting)
	}
	slices.Sort(p.spoken)
	p.spoken = slices.Compact(p.spoken)
	return nil
}

// plansOf checks candidates that speak for one source of one reminder type.
func (s *Scheduler) plansOf(ctx context.Context, name string, scope Scope, source Source, candidates []Candidate) ([]plan, error) {
	full := make([]Candidate, len(candidates))
	for i, c := range candidates {
		if c.Source == (Source{}) {
			c.Source = source
		}
		if c.Type == "" {
			c.Type = name
		}
		if c.Scope == "" {
			c.Scope = scope
		}
		if c.Source != source || c.Type != name || c.Scope != scope || c.AutomationType != "" {
			return nil, &CandidateError{Index: i, Type: c.Type, Err: errors.New("its scope, type or source is not the one it was asked for")}
		}
		full[i] = c
	}
	return s.plans(ctx, full)
}

// planSettings finds the settings that are off.
func (s *Scheduler) planSettings(ctx context.Context, e Event, _ route, p *eventPlan) (err error) {
	p.off, err = s.inactive(ctx, e.Scope, p.spoken)
	return err
}

// inactive tells which settings are off.
func (s *Scheduler) inactive(ctx context.Context, scope Scope, ids []string) (map[string]bool, error) {
	loaded, err := s.settings(ctx, scope, ids)
	off := map[string]bool{}
	for i, setting := range loaded {
		if !setting.Active {
			off[ids[i]] = true
		}
	}
	return off, err
}

// superseded tells of an open row of the source whether it has to go, and why.
func (p eventPlan) superseded() func(*Schedule) (Reason, bool) {
	wanted := map[string]bool{}
	for _, plan := range p.plans {
		if !plan.skipped && !plan.unmet {
			wanted[plan.want.Key] = true
		}
	}
	conditions, series := demandOf(p.plans), p.series()
	return func(row *Schedule) (Reason, bool) {
		if p.off[row.Setting] {
			return ReminderSettingInactive, true
		}
		if wanted[row.Key] || series[row.seriesKey()] {
			return "", false
		}
		reason, ends := conditions.ending(row)
		return reason, ends && (reason != Superseded || row.baseKey() == row.Key) // a rerun is support's
	}
}

func (s *Scheduler) planInvalidations(ctx context.Context, e Event, r route, p *eventPlan) error {
	for _, name := range r.invalidations {
		t, _ := s.registry.reminder(name)
		invalid, err := t.Invalidations.Invalidations(ctx, e)
		if err != nil {
			return fmt.Errorf("automation: invalidations of %s: %w", name, err)
		}
		for i, in := range invalid {
			if in.Setting == "" {
				return fmt.Errorf("automation: invalidation %d of %s: no Setting", i, name)
			}
			if in.Reason == "" {
				in.Reason = Invalidated
			}
			p.invalid = append(p.invalid, in)
		}
	}
	return nil
}

func (s *Scheduler) planImmediates(ctx context.Context, e Event, r route, p *eventPlan) (err error) {
	p.immediate, err = s.immediates(ctx, e, r.immediate)
	return err
}
