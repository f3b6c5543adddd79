package outbox

import (
	"context"
	"sync/atomic"
	"time"
)

// Call is one call of a subscriber about one event.
type Call struct {
	On        time.Time `json:"on"` // when it was over
	Error     string    `json:"error,omitempty"`
	MessageID string    `json:"messageId,omitempty"` // what the subscriber knows the event by
}

// keptCalls is how many calls of one delivery are kept, the last ones.
const keptCalls = 20

// note adds a call to the log.
func (d *deliveryRow) note(c Call) {
	d.Calls = append(d.Calls[max(0, len(d.Calls)+1-keptCalls):len(d.Calls):len(d.Calls)], c)
}

// noteKey is where the context of a call has its message id, tallyKey that of a poll
// its count.
type (
	noteKey  struct{}
	tallyKey struct{}
)

// NoteMessageID says, in a call of a subscriber, what it knows the event by.
func NoteMessageID(ctx context.Context, id string) {
	if n, ok := ctx.Value(noteKey{}).(*atomic.Value); ok {
		n.Store(storable(id))
	}
}

// Tally counts the calls of subscribers in a poll.
type Tally struct{ Done, Failed atomic.Int64 }

// Tallied is a context for a poll whose calls are counted.
func Tallied(ctx context.Context) (context.Context, *Tally) {
	t := &Tally{}
	return context.WithValue(ctx, tallyKey{}, t), t
}

func tally(ctx context.Context, err error) {
	t, ok := ctx.Value(tallyKey{}).(*Tally)
	switch {
	case !ok:
	case err == nil:
		t.Done.Add(1)
	default:
		t.Failed.Add(1)
	}
}
