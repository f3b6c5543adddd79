package outbox

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/storage/driver"
)

// Rules say how events and their deliveries are forgotten: a delivery that its
// subscriber has, and an event that none is left of. Dead letters wait for a person.
func Rules() []sweep.Rule {
	return []sweep.Rule{
		sweep.Retention[deliveryRow]{
			Table: deliveries, By: "Events",
			Created: func(d *deliveryRow) time.Time { return d.CreatedOn },
			Old: func(before time.Time) []driver.Cond {
				return []driver.Cond{driver.Eq("status", StatusDispatched), driver.AtMost("dispatched_on", before), driver.Null("due_on")}
			},
		}.Rule(),
		sweep.Retention[eventRow]{
			Table: events, By: "Events",
			Created: func(e *eventRow) time.Time { return e.CreatedOn },
			Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("created_on", before)} },
			Judge:   judgeEvents,
		}.Rule(),
	}
}

// judgeEvents keeps those that a subscriber is still to get, or may be given again.
func judgeEvents(ctx context.Context, from driver.Reader, _ sweep.At, rows []*eventRow) ([]sweep.Verdict, error) {
	places := make([]driver.ScopedKey, len(rows))
	for i, e := range rows {
		places[i] = events.ScopedKeyOf(e)
	}
	left, err := deliveries.HasChildren(ctx, from, places)
	if err != nil {
		return nil, err
	}
	out := make([]sweep.Verdict, len(rows))
	for i := range rows {
		if !left[i] {
			out[i] = sweep.Delete
		}
	}
	return out, nil
}
