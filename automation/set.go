package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Reminders asks for the reminders of one type; [Scheduler.Register] and [Scheduler.Type]
// return it. It may be copied, and used by any number of goroutines. The zero value belongs
// to no scheduler: its calls panic.
type Reminders struct {
	s     *Scheduler
	name  string
	scope Scope
}

// Type returns the reminders of a type that need not be registered in this process.
func (s *Scheduler) Type(name string) Reminders { return Reminders{s: s, name: name} }

// In returns a copy that reads and writes in a transaction; see [Scheduler.WithTx].
func (r Reminders) In(tx storage.Tx) Reminders {
	r.s = r.s.WithTx(tx)
	return r
}

// For returns a copy for one tenant; without it the scope is the empty one.
func (r Reminders) For(scope Scope) Reminders {
	r.scope = scope
	return r
}

// About says what reminders are about. ID is required.
type About struct {
	// ID is that of the entity that the reminders are about.
	ID string
	// SourceType is what that entity is; default that of the [ReminderType]. It is required
	// where the type is not registered in this process.
	SourceType string
	// BusinessUnit and Person are those of candidates that name none.
	BusinessUnit string
	Person       string
	// Setting is the id of the reminder setting; default the name of the type. A call
	// changes the reminders of one setting.
	Setting string
	// Because says to people why what the call withdraws ends; see [Event].Because.
	Because string
	// Version grows with each change of the source, as in [Event]: what comes with an
	// older one is not applied (EventStale, [ErrStaleEvent]); see [ReminderType].Stream.
	// Zero: the last call counts.
	Version int64
}

// Set replaces the list of reminders that a source has of the type: it ensures the
// candidates, as [Scheduler.Ensure] does and under the same keys, and withdraws open
// reminders of the source that are not among them (Deactivated, Superseded), in one
// transaction. So if a date moves, call Set with the new one. Without candidates it
// withdraws all, as Clear does. What was sent stays.
//
// A candidate may leave out Scope, Type, Setting and Source, which are those of the call;
// others are refused. A series goes on as it is while a candidate asks for it, and a
// [threshold.Threshold] is measured as by an event. Calls about one source run one after the other.
// Use either Set or a [TriggerProvider] for a type: each withdraws what only the other
// asked for.
//
// The answer is that of [Scheduler.HandleEvent], with an Ensured for each candidate in
// their order. Conflicts are reported beside a complete result; after any other error
// nothing was written, and a [*CandidateError] says which candidate cannot be stored and why.
func (r Reminders) Set(ctx context.Context, about About, candidates ...Candidate) (EventResult, error) {
	s := r.s
	e, err := r.event(about)
	if err != nil {
		return EventResult{}, fmt.Errorf("automation: Set: %w", err)
	}
	p := &page{s: s.core, scope: e.Scope, given: true, sources: []*pageSource{{event: e}}, asks: func(ctx context.Context, x *pageSource) {
		x.plan, x.err = r.plan(ctx, about, e, candidates)
	}}
	result, err := s.ensurer().applyOne(ctx, p)
	if err != nil {
		return EventResult{}, err
	}
	s.tel.changed(ctx, result)
	return result, errors.Join(e.staleAfter(result), result.err())
}

// Clear withdraws all reminders that a source has of the type (Deactivated, Superseded). It
// is Set without candidates. [Scheduler.Deactivate] takes a reason.
func (r Reminders) Clear(ctx context.Context, about About) (EventResult, error) {
	return r.Set(ctx, about)
}

// event is how the rows of the source are written: by the host.
func (r Reminders) event(about About) (Event, error) {
	t, registered := r.s.registry.reminder(r.name)
	e := Event{
		Scope: r.scope, Version: about.Version, Stream: cmp.Or(t.Stream, r.name), // it may be registered elsewhere
		Because: about.Because,
		Source:  Source{Type: cmp.Or(about.SourceType, t.SourceType), ID: about.ID},
	}
	if field, err := checkTenancy(r.scope, ""); err != nil {
		return e, fmt.Errorf("%s %w", field, err)
	}
	if err := checkName(r.name); err != nil {
		return e, fmt.Errorf("Type: %w", err)
	}
	if e.Source.Type == "" && !registered {
		return e, fmt.Errorf("About: SourceType is required, since the type %q is not registered in this process (registered: %s)", r.name, strings.Join(r.s.registry.types(), ", "))
	}
	for _, field := range []struct{ name, text string }{
		{"ID", about.ID}, {"SourceType", e.Source.Type}, {"Setting", cmp.Or(about.Setting, r.name)},
	} {
		if err := checkName(field.text); err != nil {
			return e, fmt.Errorf("About: %s: %w", field.name, err)
		}
	}
	if about.Version < 0 {
		return e, errors.New("About: negative Version")
	}
	return e, nil
}

// plan is what an event would ask for, for one setting of the type.
func (r Reminders) plan(ctx context.Context, about About, e Event, candidates []Candidate) (eventPlan, error) {
	setting := cmp.Or(about.Setting, r.name)
	candidates = slices.Clone(candidates)
	for i := range candidates {
		c := &candidates[i]
		if c.Setting = cmp.Or(c.Setting, setting); c.Setting != setting {
			return eventPlan{}, &CandidateError{Index: i, Type: cmp.Or(c.Type, r.name), Field: "Setting", Err: errors.New("is not the setting of the call")}
		}
		c.BusinessUnit, c.Person = cmp.Or(c.BusinessUnit, about.BusinessUnit), cmp.Or(c.Person, about.Person)
	}
	plans, err := r.s.planner().plansOf(ctx, r.name, r.scope, e.Source, candidates)
	return eventPlan{plans: plans, spoken: []string{setting}}, err
}

// DaysBefore asks for a reminder so many days before a date, at the SendAt of the type.
func DaysBefore(date Date, days int) Candidate { return Candidate{TargetDate: date, DaysBefore: days} }

// DaysAfter asks for a reminder so many days after a date, at the SendAt of the type.
func DaysAfter(date Date, days int) Candidate { return DaysBefore(date, -days) }

// Before asks for a reminder so long before an instant, such as the start of a lesson.
func Before(at time.Time, d time.Duration) Candidate { return Candidate{At: at, Before: d} }

// Cron asks for a reminder at each time of a cron expression; see [Recurrence].
func Cron(expression string) Candidate { return Candidate{Recurrence: &Recurrence{Cron: expression}} }
