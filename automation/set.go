package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
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
		if result, _, err = beginEvent(ctx, tx, e); err != nil || result.Outcome == EventStale {
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
		return s.ensurer().applyPlan(ctx, tx, e, p, &result)
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
