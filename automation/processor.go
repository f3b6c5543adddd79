package automation

import (
	"cmp"
	"errors"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// Processor is one of several that hear of the host's events after the host's
// own change (Automation & Reminders, "Provider contracts": the post-processor
// seam with its own registry).
type Processor struct {
	// Name is required and unique among the processors of one registry. It stands
	// in errors, logs and metrics, so it is a word of the program and no data.
	Name string
	// Order says who comes first: the lowest, and by name among equals.
	Order int
	// EventTypes are the events that it hears of; none means all.
	EventTypes []string
	// Handler is required. A *[Scheduler] is one. It may be called from several
	// goroutines, and again for the same event.
	Handler EventHandler
}

// TxEventHandler is an [EventHandler] that can work inside a transaction of the
// host, which [Processors.WithTx] needs. *[Scheduler] is one.
type TxEventHandler interface {
	EventHandler
	// BindEvents returns the handler bound to tx: what it writes commits or
	// vanishes with it.
	BindEvents(tx storage.Tx) EventHandler
}

var _ TxEventHandler = (*Scheduler)(nil)

// BindEvents is WithTx for [Processors].
func (s *Scheduler) BindEvents(tx storage.Tx) EventHandler { return s.WithTx(tx) }

func (p *Processor) check() error {
	switch {
	case p.Name == "":
		return errors.New("a processor without a Name")
	case p.Handler == nil:
		return errors.New("it has no Handler")
	}
	return nil
}

func (p *Processor) hears(eventType string) bool {
	return len(p.EventTypes) == 0 || slices.Contains(p.EventTypes, eventType)
}

func inOrder(a, b Processor) int {
	return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
}
