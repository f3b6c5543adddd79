package outbox

import (
	"errors"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/storage"
)

// The states of a [Delivery].
const (
	StatusPending     = "Pending"
	StatusDispatching = "Dispatching"
	StatusDispatched  = "Dispatched"
	StatusDeadLetter  = "DeadLetter"
)

// Machine is the table of legal transitions of a delivery.
var Machine = states.Machine{
	Name:  "Outbox delivery",
	Start: []string{StatusPending},
	Edges: []states.Edge{
		{From: StatusPending, To: StatusDispatching, Event: "claimed when due"},
		{From: StatusDispatching, To: StatusDispatched, Event: "the subscriber has it"},
		{From: StatusDispatching, To: StatusPending, Event: "failed, lease lost, or given back at shutdown"},
		{From: StatusDispatching, To: StatusDeadLetter, Event: "refused for good, or failed once too often"},
		{From: StatusDeadLetter, To: StatusPending, Event: "replayed by support"},
		{From: StatusDispatched, To: StatusPending, Event: "replayed by support"},
	},
	Terminal: []string{StatusDispatched, StatusDeadLetter},
}

// waits are the pauses between two calls of one subscriber: about two days.
var waits = backoff.Steps{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

func (d *Delivery) become(status string) {
	Machine.Must(d.Status, status)
	d.Status = status
}

func (d *Delivery) dispatched(now time.Time) {
	d.become(StatusDispatched)
	d.DispatchedOn, d.DueOn, d.Diagnostics = now, time.Time{}, ""
}

// failed is a call that failed, whatever was decided before.
func (d *Delivery) failed(now time.Time, text string, forGood bool) {
	d.Status, d.DispatchedOn = StatusDispatching, time.Time{}
	d.Attempts++
	d.Diagnostics = storable(text)
	wait, more := waits.After(d.Key, d.Attempts)
	if forGood || !more {
		d.become(StatusDeadLetter)
		d.DeadOn, d.DueOn = now, time.Time{}
		return
	}
	d.become(StatusPending)
	d.DueOn = storage.Time(now.Add(wait))
}

// postpone grants the pause that a subscriber asks for.
func (d *Delivery) postpone(now time.Time, err error) {
	asked := (*WaitError)(nil)
	if d.DueOn.IsZero() || !errors.As(err, &asked) {
		return
	}
	if until := storage.Time(now.Add(min(asked.Wait, maxWait))); until.After(d.DueOn) {
		d.DueOn = until
	}
}

func (d *Delivery) released(now time.Time) {
	d.become(StatusPending)
	d.DueOn = now
}

// replayed starts afresh.
func (d *Delivery) replayed(now time.Time) {
	d.become(StatusPending)
	d.Attempts, d.DeadOn, d.DispatchedOn, d.DueOn = 0, time.Time{}, time.Time{}, now
}

// storable makes a text that every database takes, of at most 500 bytes.
func storable(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?")
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "")
	}
	return s
}
