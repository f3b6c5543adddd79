package automation

import (
	"context"
	"fmt"
)

// Handler serves an automation type of the host's own. It decides about a group
// of due rows and gives one Outcome for each, in order; an error fails all of
// them. It is called from several goroutines, and again for rows whose outcome
// could not be stored. A group that fails or panics is asked again row by row,
// so that one bad row does not fail the others.
//
// Handlers decide, the pass writes: a handler writes nothing to the store but
// blobs. What it wants to exist it returns.
type Handler interface {
	Handle(ctx context.Context, due []Due) ([]Outcome, error)
}

// HandlerFunc is a Handler made of a function.
type HandlerFunc func(ctx context.Context, due []Due) ([]Outcome, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, due []Due) ([]Outcome, error) { return f(ctx, due) }

// LongRunning marks a handler whose rows are retried every 24 h after the usual
// steps, at most seven times, before they are put on hold.
func LongRunning(h Handler) Handler {
	if h == nil {
		panic("automation: LongRunning without a handler")
	}
	return longRunning{h}
}

type longRunning struct{ Handler }

func (l longRunning) unwrap() Handler { return l.Handler }

// Handle adds an automation type of the host's own: from now on this process
// serves its rows, which [Scheduler.Ensure] makes of candidates with that
// AutomationType. It panics on a nil handler, a name that no key can hold, that
// is taken, or that the documents reserve.
func (s *Scheduler) Handle(automationType string, h Handler) {
	switch {
	case h == nil:
		panic(fmt.Sprintf("automation: Handle(%q): no handler", automationType))
	case automationType == TypeReminder || automationType == TypeReportSubscription:
		panic(fmt.Sprintf("automation: Handle(%q): the name is reserved", automationType))
	}
	s.claim("Handle", automationType, func() { s.registry.handlers[automationType] = h })
}

// HandleReports adds a type of report: from now on this process serves the runs
// of subscriptions of that type, which package automation/report asks for. They
// are handled one by one and by a pass of their own, so that one that takes long
// keeps neither reminders nor other reports waiting. It panics on a nil handler, a
// name that no key can hold or that is taken, or a negative Lateness.
func (s *Scheduler) HandleReports(name string, h Handler, l Lateness) {
	switch {
	case h == nil:
		panic(fmt.Sprintf("automation: HandleReports(%q): no handler", name))
	case l.Window < 0:
		panic(fmt.Sprintf("automation: HandleReports(%q): a negative Lateness", name))
	}
	s.claim("HandleReports", name, func() { s.registry.handlers[name], s.registry.reports[name] = h, l })
}

// claim takes a name for a handler, for the caller of that method.
func (s *Scheduler) claim(method, name string, add func()) {
	if err := checkName(name); err != nil {
		panic(fmt.Sprintf("automation: %s(%q): %v", method, name, err))
	}
	if !s.registry.claim(name, add) {
		panic(fmt.Sprintf("automation: %s(%q): the name is registered already", method, name))
	}
}
