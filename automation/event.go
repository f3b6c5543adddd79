package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Event tells that something happened to an entity of the host.
type Event struct {
	Scope Scope
	// ID is the event's own id, the same when it is delivered again. It is required
	// where an [ImmediateNotificationProvider] listens.
	ID string
	// Type routes the event to the providers that listen to it; required.
	Type string
	// Source is the entity that it happened to; required.
	Source Source
	// Version is the version of the entity, or its time of change in
	// microseconds: any number that grows with each change. An event that is
	// older than what its Stream has shown of the source is not applied. Zero means
	// that the source has no versions: then providers are called inside the
	// transaction, after the row that orders events was written, and see at least
	// the state of every event before.
	Version int64
	// Stream names what Version counts; default the Type. Events that share a count,
	// such as those of one entity, name one Stream, and [ReminderType].Stream names it
	// too. Of a source with several streams providers are called inside the
	// transaction.
	Stream string
	// Because says to people why the rows end that the event ends, such as "renewed on 8
	// April until 2028-05-02". It is kept with them as personal content, at most 500 bytes,
	// and shown with the reason; it may be empty.
	Because string
	// Data is handed to the providers and not stored. Inside a transaction of the
	// host, a provider that has to read through it finds it here.
	Data any
}

func (e Event) check() error {
	switch {
	case e.Type == "":
		return errors.New("automation: event without a Type")
	case e.Version < 0:
		return errors.New("automation: event " + e.Type + ": negative Version")
	case e.Stream != "" && checkName(e.Stream) != nil:
		return fmt.Errorf("automation: event %s: Stream: %w", e.Type, checkName(e.Stream))
	}
	return nil
}

func (e Event) stream() string { return cmp.Or(e.Stream, e.Type) }

// eventPlan is all that providers and settings say about one event.
type eventPlan struct {
	plans     []plan
	spoken    []string        // settings whose rows are compared with plans
	off       map[string]bool // of those, the ones that are not active
	keeps     string          // of those, one that is not spoken for: its rows end if it is off
	invalid   []Invalidation
	immediate Artifacts
	failed    []EventFailure // nothing of what failed is in the rest
}

// planEvent asks everybody who listens. It writes nothing. A provider that fails, or
// is refused, holds up no other; the error is for an event that came to nothing else.
func (s planner) planEvent(ctx context.Context, e Event, r route) (eventPlan, error) {
	var p eventPlan
	ask := func(names []string, of func(context.Context, Event, string, *eventPlan) error) {
		for _, name := range names {
			err := work.Guard(func() error { return of(ctx, e, name, &p) })
			if err != nil && ctx.Err() == nil {
				p.failed = append(p.failed, EventFailure{name, err})
			}
		}
	}
	ask(r.triggers, s.planTriggers)
	ask(r.invalidations, s.planInvalidations)
	ask(r.immediate, s.planImmediates)
	if ctx.Err() != nil {
		return eventPlan{}, context.Cause(ctx)
	}
	if len(p.spoken)+len(p.invalid)+len(p.immediate.Jobs) == 0 {
		return eventPlan{}, failures(p.failed)
	}
	slices.Sort(p.spoken)
	p.spoken = slices.Compact(p.spoken)
	return p, nil
}

func failures(failed []EventFailure) error {
	var all []error
	for _, f := range failed {
		all = append(all, f.Err)
	}
	return errors.Join(all...)
}

// planTriggers asks a type what the source wants. The plan is as it was after an error.
func (s planner) planTriggers(ctx context.Context, e Event, name string, p *eventPlan) error {
	t, _ := s.registry.reminder(name)
	got, errs := s.desired(ctx, t, []Request{{e.Scope, e.Source, e}})
	if err := errs[0]; err != nil {
		return fmt.Errorf("automation: candidates of %s: %w", name, err)
	}
	p.plans, p.spoken = append(p.plans, got[0].plans...), append(p.spoken, got[0].spoken...)
	return nil
}

// superseded tells of an open row of the source whether it has to go, and why.
func (p eventPlan) superseded() func(*scheduleRow) (Reason, bool) {
	wanted := map[string]bool{}
	for _, plan := range p.plans {
		if !plan.skipped && !plan.unmet {
			wanted[plan.want.Key] = true
		}
	}
	conditions, series := demandOf(p.plans), p.series()
	return func(row *scheduleRow) (Reason, bool) {
		if p.off[row.Setting] {
			return reasons.ReminderSettingInactive, true
		}
		if wanted[row.Key] || row.Setting == p.keeps || series[row.seriesKey()] {
			return "", false
		}
		reason, ends := conditions.ending(row)
		return reason, ends && (reason != reasons.Superseded || row.baseKey() == row.Key) // a rerun is support's
	}
}

// EventOutcome is what became of an event as a whole.
type EventOutcome string

// The outcomes of an event.
const (
	EventApplied EventOutcome = "Applied"
	// EventStale: the stream has shown a newer version; nothing was written, but that
	// many rows may have begun to end before it came (see [Scheduler.HandleEvent]).
	EventStale EventOutcome = "StaleEvent"
	// EventIgnored: no provider here listens to its type; nothing was written.
	EventIgnored EventOutcome = "Ignored"
)

// ErrStaleEvent is the error beside EventStale. What the event told of is past:
// telling it again changes nothing.
var ErrStaleEvent = errors.New("automation: stale event")

// EventResult is what an event led to.
type EventResult struct {
	Outcome EventOutcome
	// SourceVersion is the newest version that the event's stream has shown.
	SourceVersion int64
	// Deactivated lists the rows that the event ended.
	Deactivated []Deactivation
	// Ensured has an answer for every candidate, also for those that made no row:
	// OffsetPassed, TimeSkipped, SettingInactive, ThresholdNotMet.
	Ensured []Ensured
	// Immediate has an answer for every immediate notification's job.
	Immediate []notify.Ensured
	// Failed are the reminder types whose provider failed or was refused. Nothing was
	// done about them; tell the event again, or leave it to reconciliation.
	Failed []EventFailure
}

// EventFailure is a reminder type that could not be asked about an event, and why.
type EventFailure struct {
	Type string
	Err  error
}

// HandleEvent applies an event of the host: it asks the providers that listen,
// and in one transaction ends the open rows that are no longer asked for, makes
// sure of those that are, and of immediate notifications (Automation &
// Reminders, "Main flow"). It sends and renders nothing.
//
// Events of a source may come in any order and any number of times: an older
// version of their stream ends as EventStale with an [ErrStaleEvent], a repeated one
// changes nothing. A type whose provider fails holds up no other. Such failures, and
// conflicts as of [Scheduler.Ensure], are reported beside a complete result, which has an
// Outcome; after any other error nothing was written, but for the case of the next
// paragraph. Outside a bound transaction, call it after the host's own change has
// committed.
//
// Where an [Invalidation] names more than 500 open rows, they end 500 at a time, each
// time in a transaction of its own, before the one that does all else, so that no other
// writer waits for long. After an error some of them may have ended: tell the event
// again, and it does the rest. A newer event of the source that comes in between decides
// about what is left, and the older one ends as EventStale. In a bound transaction all of
// them end in that one.
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
	p := &page{s: s.core, scope: e.Scope, sources: []*pageSource{{event: e}}, asks: func(ctx context.Context, x *pageSource) {
		x.plan, x.err = s.planner().planEvent(ctx, e, listeners)
	}}
	result, err := s.ensurer().applyOne(ctx, p)
	if err != nil {
		return EventResult{}, err
	}
	s.tel.event(ctx, result)
	return result, errors.Join(e.staleAfter(result), result.err())
}

// applyOne plans the one source of a page, and repeats the transaction, which takes the
// source's row each time, until there are few enough rows to end that it does all else.
func (s ensurer) applyOne(ctx context.Context, p *page) (EventResult, error) {
	x := p.sources[0]
	if err := p.planAhead(within(ctx, s.tx)); err != nil {
		return EventResult{}, err
	}
	if x.err != nil {
		return EventResult{}, x.err
	}
	most := deactivatePage
	if s.tx != nil {
		most = math.MaxInt
	}
	var ended []Deactivation
	for {
		var result EventResult
		err := s.inTx(ctx, func(tx storage.Tx) (err error) {
			result, err = s.applyEvent(ctx, tx, p, most)
			return err
		})
		if err != nil && len(ended) > 0 {
			err = fmt.Errorf("automation: event %s: %d rows have ended, and others are left; tell it again: %w", x.event.Type, len(ended), err)
		}
		ended = append(ended, result.Deactivated...)
		if result.Deactivated = ended; err != nil || result.Outcome != "" {
			return result, err
		}
	}
}

// staleAfter is the error of an event that is out of date.
func (e Event) staleAfter(r EventResult) error {
	if r.Outcome != EventStale {
		return nil
	}
	return fmt.Errorf("%w: version %d of %s, after %d", ErrStaleEvent, e.Version, e.stream(), r.SourceVersion)
}

// applyEvent is the transaction of an event, or of a Set. If it ends most of the rows that
// are invalid, or more, there may be others: it does nothing else, and its result has no
// Outcome.
func (s ensurer) applyEvent(ctx context.Context, tx storage.Tx, p *page, most int) (EventResult, error) {
	x := p.sources[0]
	if _, err := p.take(ctx, tx, p.sources); err != nil {
		return EventResult{}, err
	}
	result := EventResult{Outcome: EventApplied, SourceVersion: x.at.version}
	if x.stale {
		result.Outcome = EventStale
		return result, nil
	}
	if x.err != nil {
		return EventResult{}, x.err
	}
	var err error
	if result.Deactivated, err = s.endInvalid(ctx, tx, x.event, x.plan.invalid, most); err != nil || len(result.Deactivated) >= most {
		return EventResult{Deactivated: result.Deactivated}, err
	}
	s.source, result.Failed = x.at.row, x.plan.failed
	planned := x.plan
	planned.plans = readAt(x.event, planned.plans)
	err = s.applyPlan(ctx, tx, x.event, planned, &result)
	return result, err
}

// applyPlan writes what is planned for the source of an event, or of a Set.
func (s ensurer) applyPlan(ctx context.Context, tx storage.Tx, e Event, p eventPlan, result *EventResult) (err error) {
	if p.plans, err = s.measure(ctx, tx, p.plans); err != nil {
		return err
	}
	for _, step := range []func(context.Context, storage.Tx, Event, eventPlan, *EventResult) error{
		s.endSuperseded, s.ensureCandidates, s.ensureImmediate,
	} {
		if err := step(ctx, tx, e, p, result); err != nil {
			return err
		}
	}
	return nil
}

// endInvalid ends open rows that are invalid, until there are most of them, or more.
func (s ensurer) endInvalid(ctx context.Context, tx storage.Tx, e Event, invalid []Invalidation, most int) (all []Deactivation, err error) {
	for _, in := range invalid {
		if len(all) >= most {
			break
		}
		where := []driver.Cond{driver.Eq("setting", in.Setting)}
		if in.Source != (Source{}) {
			where = append(where, driver.Eq("source_type", in.Source.Type), driver.Eq("source", in.Source.ID))
		}
		deactivate := s.deactivateSome
		if len(in.Keys) > 0 {
			deactivate = s.deactivateOnly
		}
		ended, err := deactivate(ctx, tx, e, actor(e.Type, e.ID), where, most-len(all), func(row *scheduleRow) (Reason, bool) {
			return in.Reason, len(in.Keys) == 0 || slices.Contains(in.Keys, row.Key) || slices.Contains(in.Keys, row.baseKey())
		})
		if err != nil {
			return nil, err
		}
		all = append(all, ended...)
	}
	return all, nil
}

// endSuperseded ends the open rows of the source, of the settings that were
// spoken for, that no candidate asks for.
func (s ensurer) endSuperseded(ctx context.Context, tx storage.Tx, e Event, p eventPlan, result *EventResult) error {
	if len(p.spoken) == 0 {
		return nil
	}
	where := []driver.Cond{driver.In("setting", p.spoken), driver.Eq("source_type", e.Source.Type), driver.Eq("source", e.Source.ID)}
	ended, err := s.deactivate(ctx, tx, e, where, p.superseded())
	result.Deactivated = append(result.Deactivated, ended...)
	return err
}

func (s ensurer) ensureCandidates(ctx context.Context, tx storage.Tx, e Event, p eventPlan, result *EventResult) (err error) {
	off := map[driver.ScopedKey]bool{}
	for id := range p.off {
		off[driver.ScopedKey{Scope: e.Scope, Key: id}] = true
	}
	result.Ensured, err = s.ensureActive(ctx, tx, p.plans, e, off)
	return err
}

// err joins what every answer says.
func (r EventResult) err() error {
	all := []error{failures(r.Failed), conflicts(r.Ensured)}
	for _, e := range r.Immediate {
		if e.Conflict != nil {
			all = append(all, e.Conflict)
		}
	}
	return errors.Join(all...)
}
