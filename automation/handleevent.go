package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// EventOutcome is what became of an event as a whole.
type EventOutcome string

// The outcomes of an event.
const (
	EventApplied EventOutcome = "Applied"
	// EventStale: the source has shown a newer version; nothing was written.
	EventStale EventOutcome = "StaleEvent"
	// EventIgnored: no provider here listens to its type; nothing was written.
	EventIgnored EventOutcome = "Ignored"
)

// EventResult is what an event led to.
type EventResult struct {
	Outcome EventOutcome
	// SourceVersion is the newest version that the source has shown.
	SourceVersion int64
	// Deactivated lists the rows that the event ended.
	Deactivated []Deactivation
	// Ensured has an answer for every candidate, also for those that made no row:
	// OffsetPassed, TimeSkipped, SettingInactive, ThresholdNotMet.
	Ensured []Ensured
	// Immediate has an answer for every immediate notification's job.
	Immediate []notify.Ensured
}

// HandleEvent applies an event of the host: it asks the providers that listen,
// and in one transaction ends the open rows that are no longer asked for, makes
// sure of those that are, and of immediate notifications (Automation &
// Reminders, "Main flow"). It sends and renders nothing.
//
// Events of a source may come in any order and any number of times: an older
// version ends as EventStale, a repeated one changes nothing. Conflicts are
// reported as by [Scheduler.Ensure], beside a complete result; after any other
// error nothing was written. Outside a bound transaction, call it after the
// host's own change has committed.
func (s *Scheduler) HandleEvent(ctx context.Context, e Event) (EventResult, error) {
	if err := e.check(); err != nil {
		return EventResult{}, err
	}
	if _, err := newSourceState(e); err != nil {
		return EventResult{}, fmt.Errorf("automation: event %s: Source: %w", e.Type, err)
	}
	listeners, ok := s.registry.route(e.Type)
	if !ok {
		return EventResult{Outcome: EventIgnored}, nil
	}
	var p eventPlan
	var err error
	if e.Version > 0 {
		if p, err = s.planEvent(within(ctx, s.tx), e, listeners); err != nil {
			return EventResult{}, err
		}
	}
	var result EventResult
	err = s.inTx(ctx, func(tx storage.Tx) (err error) {
		result, err = s.applyEvent(ctx, tx, e, listeners, p)
		return err
	})
	if err != nil {
		return EventResult{}, err
	}
	s.tel.event(ctx, result)
	return result, result.conflicts()
}

// applyEvent is the transaction of HandleEvent. The source's row comes first,
// and without versions the source is read behind it.
func (s *Scheduler) applyEvent(ctx context.Context, tx storage.Tx, e Event, r route, p eventPlan) (EventResult, error) {
	source, err := stamp(ctx, tx, e)
	if err != nil {
		return EventResult{}, err
	}
	result := EventResult{Outcome: EventApplied, SourceVersion: source[0].version}
	if !source[0].fresh {
		result.Outcome = EventStale
		return result, nil
	}
	if e.Version == 0 {
		if p, err = s.planEvent(within(ctx, tx), e, r); err != nil {
			return EventResult{}, err
		}
	}
	if p.plans, err = s.measure(ctx, tx, readAt(e.Version, p.plans)); err != nil {
		return EventResult{}, err
	}
	for _, step := range []func(context.Context, storage.Tx, Event, eventPlan, *EventResult) error{
		s.endInvalid, s.endSuperseded, s.ensureCandidates, s.ensureImmediate,
	} {
		if err := step(ctx, tx, e, p, &result); err != nil {
			return EventResult{}, err
		}
	}
	return result, nil
}

func (s *Scheduler) endInvalid(ctx context.Context, tx storage.Tx, e Event, p eventPlan, result *EventResult) error {
	for _, in := range p.invalid {
		where := []storage.Cond{storage.Eq("setting", in.Setting)}
		if in.Source != (Source{}) {
			where = append(where, storage.Eq("source_type", in.Source.Type), storage.Eq("source", in.Source.ID))
		}
		deactivate := s.deactivate
		if len(in.Keys) > 0 {
			deactivate = s.deactivateOnly
		}
		ended, err := deactivate(ctx, tx, e, where, func(row *Schedule) (Reason, bool) {
			return in.Reason, len(in.Keys) == 0 || slices.Contains(in.Keys, row.Key) || slices.Contains(in.Keys, row.baseKey())
		})
		if err != nil {
			return err
		}
		result.Deactivated = append(result.Deactivated, ended...)
	}
	return nil
}

// endSuperseded ends the open rows of the source, of the settings that were
// spoken for, that no candidate asks for.
func (s *Scheduler) endSuperseded(ctx context.Context, tx storage.Tx, e Event, p eventPlan, result *EventResult) error {
	if len(p.spoken) == 0 {
		return nil
	}
	where := []storage.Cond{storage.In("setting", p.spoken), storage.Eq("source_type", e.Source.Type), storage.Eq("source", e.Source.ID)}
	ended, err := s.deactivate(ctx, tx, e, where, p.superseded())
	result.Deactivated = append(result.Deactivated, ended...)
	return err
}

func (s *Scheduler) ensureCandidates(ctx context.Context, tx storage.Tx, e Event, p eventPlan, result *EventResult) error {
	result.Ensured = make([]Ensured, len(p.plans))
	var active []plan
	var places []int
	for i, plan := range p.plans {
		if p.off[plan.want.Setting] {
			result.Ensured[i] = Ensured{Outcome: SettingInactive, Scope: plan.want.Scope, Key: plan.want.Key}
			continue
		}
		active, places = append(active, plan), append(places, i)
	}
	got, err := s.ensure(ctx, tx, active, e)
	for n, g := range got {
		result.Ensured[places[n]] = g
	}
	return err
}

// ensureImmediate leaves a conflict with its answer: it concerns no row here.
func (s *Scheduler) ensureImmediate(ctx context.Context, tx storage.Tx, _ Event, p eventPlan, result *EventResult) error {
	if len(p.immediate.Jobs) == 0 {
		return nil
	}
	jobs, err := s.out.EnsureNotificationJob(ctx, tx, p.immediate.Jobs...)
	if jobs == nil && err != nil {
		return err
	}
	result.Immediate = jobs
	var schedules []notify.Schedule
	for i, job := range jobs {
		if job.Conflict == nil {
			schedules = append(schedules, p.immediate.Schedules[i])
		}
	}
	answers, err := s.out.EnsureNotificationScheduler(ctx, tx, schedules...)
	if answers == nil {
		return err
	}
	return nil // a conflict is in the answers, and recorded by the dispatcher
}

// conflicts joins what every answer says.
func (r EventResult) conflicts() error {
	all := []error{conflicts(r.Ensured)}
	for _, e := range r.Immediate {
		if e.Conflict != nil {
			all = append(all, e.Conflict)
		}
	}
	return errors.Join(all...)
}
