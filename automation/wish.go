package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// About is what is spoken of by [Scheduler.Set] and [Scheduler.Clear]: one source, and
// one reminder type.
type About struct {
	Scope Scope
	// Type is the Name of the reminder type. It need not be registered in this process.
	Type string
	// Setting is the id of the reminder setting; default Type. Each is spoken of alone.
	Setting string
	// Source is the entity that is to be reminded of.
	Source Source
	// Version grows with each change of the source, as in [Event]: what is said with an
	// older one is not applied (EventStale, [ErrStaleEvent]); see [ReminderType].Stream.
	// Zero: whoever speaks last is right.
	Version int64
}

// Set says all that a source wants of a reminder type: it makes sure of the wishes, as
// [Scheduler.Ensure] does and under the same keys, and ends the open rows of the source
// that are not among them (Superseded), in one transaction. So a date that moved is
// said again, and nothing else: what it was before ends. No wishes end all, as Clear
// does; what went out stays.
//
// A wish may leave out Scope, Type, Setting and Source, which are those of about; others
// are refused. Series go on as they are while a wish asks for them, and a [Threshold]
// is measured as by an event. Calls about one source come one after the other. A type
// is spoken for by Set or by a [TriggerProvider], for each ends what only the other
// asked for.
//
// The answer is that of [Scheduler.HandleEvent], with an Ensured for each wish in their
// order. Conflicts are reported beside a complete result; after any other error nothing
// was written, and a [*CandidateError] says which wish cannot be stored and why.
func (s *Scheduler) Set(ctx context.Context, about About, wishes ...Candidate) (EventResult, error) {
	e, err := about.event()
	if err != nil {
		return EventResult{}, fmt.Errorf("automation: Set: %w", err)
	}
	t, _ := s.registry.reminder(about.Type)
	e.Stream = cmp.Or(t.Stream, about.Type) // it may be registered elsewhere
	planned, err := s.epochsOfUnits(ctx, e.Scope)
	if err != nil {
		return EventResult{}, err
	}
	ahead, err := s.planner().planWishes(within(ctx, s.tx), about, e, wishes)
	if err != nil {
		return EventResult{}, err
	}
	var result EventResult
	err = s.inTx(ctx, func(tx storage.Tx) (err error) {
		var source stamped
		if result, source, err = beginEvent(ctx, tx, e); err != nil || result.Outcome == EventStale {
			return err
		}
		p := ahead
		outdated, err := s.outdated(ctx, tx, planned)
		if err == nil && outdated {
			p, err = s.planner().planWishes(within(ctx, tx), about, e, wishes)
		}
		if err != nil {
			return err
		}
		return ensurer{s.core, source.row}.applyPlan(ctx, tx, e, p, &result)
	})
	if err != nil {
		return EventResult{}, err
	}
	s.tel.changed(ctx, result)
	return result, errors.Join(e.staleAfter(result), result.err())
}

// Clear says that a source wants nothing more of a reminder type: its open rows end as
// Superseded. It is Set without wishes. [Scheduler.Deactivate] takes a reason.
func (s *Scheduler) Clear(ctx context.Context, about About) (EventResult, error) {
	return s.Set(ctx, about)
}

func (a About) setting() string { return cmp.Or(a.Setting, a.Type) }

// event is how the source's row and those of its wishes are written: by the host.
func (a About) event() (Event, error) {
	e := Event{Scope: a.Scope, Source: a.Source, Version: a.Version}
	if field, err := checkTenancy(a.Scope, ""); err != nil {
		return e, fmt.Errorf("About: %s %w", field, err)
	}
	if err := checkName(a.Type); err != nil {
		return e, fmt.Errorf("About: Type: %w", err)
	}
	if _, err := newSourceState(e); err != nil {
		return e, fmt.Errorf("About: Source: %w", err)
	}
	if a.Version < 0 {
		return e, errors.New("About: negative Version")
	}
	return e, nil
}

// planWishes is what an event would say of the source, for one setting of one type.
func (s planner) planWishes(ctx context.Context, about About, e Event, wishes []Candidate) (eventPlan, error) {
	setting := about.setting()
	wishes = slices.Clone(wishes)
	for i := range wishes {
		c := &wishes[i]
		if c.Setting = cmp.Or(c.Setting, setting); c.Setting != setting {
			return eventPlan{}, &CandidateError{Index: i, Type: cmp.Or(c.Type, about.Type), Field: "Setting", Err: errors.New("is not the one that is spoken of")}
		}
	}
	plans, err := s.plansOf(ctx, about.Type, about.Scope, about.Source, wishes)
	if err != nil {
		return eventPlan{}, err
	}
	p := eventPlan{plans: readAt(e, plans), spoken: []string{setting}}
	p.off, err = s.inactive(ctx, about.Scope, p.spoken)
	return p, err
}

// underWorker is the answer for a row that a worker has. What is wanted now goes into
// the row: its new version makes what the worker decides stale, so that the try counts
// for nothing and the row is given back with the new wish. The status, the lease and
// the moment at which a lost lease is noticed stay, so that a worker that dies changes
// nothing of it.
func (r *scheduleRow) underWorker(now time.Time, want *scheduleRow) (storage.Outcome, bool) {
	switch {
	case r.InputHash != want.InputHash:
		r.giveBack(now)
		return storage.Conflict, r.holdConflict(want)
	case want.inShadow() || r.sameMoment(want):
		return storage.InFlight, false
	}
	r.moveTo(want)
	return storage.InFlight, true
}

// holdConflict keeps a row whose key is wanted with another input from going out.
func (r *scheduleRow) holdConflict(want *scheduleRow) bool {
	return r.hold(InputConflict, "wanted with input "+want.InputHash+", stands for "+r.InputHash)
}

// demand is what plans ask of the rows of conditions.
type demand map[conditionID][]plan

func demandOf(plans []plan) demand {
	d := demand{}
	for _, p := range plans {
		if p.condition != nil {
			id := p.condition.id()
			d[id] = append(d[id], p)
		}
	}
	return d
}

// of finds the plans that a row stands for: whether there are any, and whether
// one of them is met, which is then given.
func (d demand) of(row *scheduleRow) (p plan, known, met bool) {
	id, key, ok := conditionOf(row)
	if !ok {
		return plan{}, false, false
	}
	for _, p := range d[id] {
		if !p.condition.asksFor(row, key) {
			continue
		}
		if known = true; !p.unmet {
			return p, true, true
		}
	}
	return plan{}, known, false
}

// lookUp finds the plans that a row of any trigger stands for: whether there are
// any, and whether one of them wants it, which is then given.
func lookUp(plans []plan, row *scheduleRow) (p plan, known, wanted bool) {
	if row.TriggerType == ThresholdCondition {
		return demandOf(plans).of(row)
	}
	for _, p := range plans {
		if p.asksFor(row) {
			return p, true, true
		}
	}
	return plan{}, false, false
}

// ending says why a row that no plan names ends. One of an earlier day stays
// while its condition is met.
func (d demand) ending(row *scheduleRow) (Reason, bool) {
	_, known, met := d.of(row)
	switch {
	case met:
		return "", false
	case known:
		return ThresholdNoLongerMet, true
	}
	return Superseded, true
}

// endUnmet ends the open rows of conditions that are no longer met, where no
// event compares all rows of the source; by asks for them.
func (s ensurer) endUnmet(ctx context.Context, tx storage.Tx, plans []plan, by author) error {
	unmet := map[Scope][]plan{}
	for _, p := range plans {
		if p.unmet {
			unmet[p.want.Scope] = append(unmet[p.want.Scope], p)
		}
	}
	d := demandOf(plans)
	for scope, some := range unmet {
		_, err := s.deactivateBy(ctx, tx, Event{Scope: scope}, by, rowsOf(some), func(row *scheduleRow) (Reason, bool) {
			_, known, met := d.of(row)
			return ThresholdNoLongerMet, known && !met
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsOf describes the rows of conditions of the settings and sources of plans.
func rowsOf(plans []plan) []driver.Cond {
	column := func(of func(plan) string) []string {
		out := make([]string, len(plans))
		for i, p := range plans {
			out[i] = of(p)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return []driver.Cond{
		driver.In("setting", column(func(p plan) string { return p.want.Setting })),
		driver.In("source_type", column(func(p plan) string { return p.want.SourceType })),
		driver.In("source", column(func(p plan) string { return p.want.Source })),
		driver.Eq("trigger_type", ThresholdCondition),
	}
}

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
