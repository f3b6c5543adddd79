package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
)

// TriggerProvider decides when, never whom (Automation & Reminders, "Provider
// contracts"). Its methods may be called from several goroutines, and again for
// the same request; they change nothing. For an event without a Version they run
// inside the transaction: there they read through connections of their own,
// through the host's transaction in Event.Data, or through [TxOf], and call
// nothing else of this store.
type TriggerProvider interface {
	// EventTypes lists the events of which the provider is told. It is asked once,
	// by Register.
	EventTypes() []string
	// Wanted says for each source, in their order, all that it should be reminded of
	// now. It loads the sources as they are, whether or not an event is told; one that is
	// gone has no candidates. It is asked by events, scans and re-plans, about rows that are
	// due and again before a call for their messages, and by explanations. If it fails it is
	// asked about one source at a time, so that a bad one fails by itself. [Each] helps a
	// provider that loads one source at a time.
	Wanted(ctx context.Context, of []Request) ([]Answer, error)
}

// Request asks a [TriggerProvider] about a source.
type Request struct {
	Scope  Scope
	Source Source
	// Event is what happened to the source: an event of the host, or one of the type
	// [EventReconcile] with the Data of a [Scan]. It is the zero Event where nothing
	// happened: in re-plans, explanations and about rows that are due.
	Event Event
}

// Answer is all that a source should be reminded of now.
type Answer struct {
	// Version is that of the state that the answer was made from, as in [Event]; zero: the
	// source has no versions. It counts in [ReminderType].Stream, and only where the
	// Request has no Event.
	Version int64
	// Settings are those that the answer speaks for. The type's Name and the settings of
	// the Candidates are always among them. Open rows of the source and of these settings
	// that are not among the Candidates are deactivated.
	Settings []string
	// Candidates may leave out Scope, Type and Source, which are the request's.
	Candidates []Candidate
}

// Each answers requests one after the other, for a provider that loads one source at a time.
func Each[T any](of []Request, one func(Request) (T, error)) ([]T, error) {
	out := make([]T, len(of))
	for i, r := range of {
		var err error
		if out[i], err = one(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// desired is what a source wants of a reminder type.
type desired struct {
	version int64
	plans   []plan
	spoken  []string // settings whose open rows are compared with plans
}

// desired asks the provider of a type about sources and plans what they want. An error is
// about the source in its place.
func (s planner) desired(ctx context.Context, t ReminderType, of []Request) ([]desired, []error) {
	answers, errs := t.ask(ctx, of)
	out := make([]desired, len(of))
	for i, a := range answers {
		if errs[i] == nil {
			out[i], errs[i] = s.planAnswer(ctx, t.Name, of[i], a)
		}
	}
	return out, errs
}

// ask asks about all sources at once, and if that fails about one at a time.
func (t *ReminderType) ask(ctx context.Context, of []Request) ([]Answer, []error) {
	errs := make([]error, len(of))
	if len(of) == 0 {
		return nil, errs
	}
	out, err := t.askTogether(ctx, of)
	switch {
	case err == nil:
	case len(of) == 1 || ctx.Err() != nil:
		out = make([]Answer, len(of))
		for i := range errs {
			errs[i] = err
		}
	default:
		out = nil
		for i := range of {
			one, err := t.ask(ctx, of[i:i+1])
			out, errs[i] = append(out, one...), err[0]
		}
	}
	return out, errs
}

func (t *ReminderType) askTogether(ctx context.Context, of []Request) (out []Answer, err error) {
	err = work.Guard(func() error {
		out, err = t.Triggers.Wanted(ctx, slices.Clone(of))
		if err == nil && len(out) != len(of) {
			err = fmt.Errorf("automation: Triggers of %s: %d answers to %d requests", t.Name, len(out), len(of))
		}
		return err
	})
	return out, err
}

func (s planner) planAnswer(ctx context.Context, name string, r Request, a Answer) (desired, error) {
	plans, err := s.plansOf(ctx, name, r.Scope, r.Source, a.Candidates)
	if err != nil {
		return desired{}, err
	}
	spoken := append([]string{name}, a.Settings...)
	for _, p := range plans {
		spoken = append(spoken, p.want.Setting)
	}
	slices.Sort(spoken)
	return desired{a.Version, plans, slices.Compact(spoken)}, nil
}

// plansOf checks candidates that speak for one source of one reminder type.
func (s planner) plansOf(ctx context.Context, name string, scope Scope, source Source, candidates []Candidate) ([]plan, error) {
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
