package automation

import "context"

// EventHandler is what a host's event pipeline calls after the host's own change
// (Automation & Reminders, "Provider contracts"). *[Scheduler] is one.
type EventHandler interface {
	HandleEvent(ctx context.Context, e Event) (EventResult, error)
}

var _ EventHandler = (*Scheduler)(nil)

// EventHandlerFunc is an EventHandler made of a function.
type EventHandlerFunc func(ctx context.Context, e Event) (EventResult, error)

// HandleEvent calls f.
func (f EventHandlerFunc) HandleEvent(ctx context.Context, e Event) (EventResult, error) {
	return f(ctx, e)
}
