package survey

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/storage"
)

// OutboxEvent is the event of one response on its way to its subscribers (Triggers
// & Scheduler, "SurveyOutboxEvent state machine").
type OutboxEvent struct {
	// Position is where the next page goes on: see [ResponseQuery].
	Position  string
	EventID   string
	EventType string
	PublicID  string // of the instance
	SurveyID  int64
	CreatedOn time.Time
	// Status follows from the deliveries: EventFailed while one is a dead letter,
	// EventDispatched when all succeeded, which no deliveries at all have too, else
	// EventPending.
	Status     EventStatus
	Deliveries []EventDelivery
}

// EventStatus is how far an event has come.
type EventStatus string

// The states of an event.
const (
	EventPending    EventStatus = "Pending"
	EventDispatched EventStatus = "Dispatched"
	EventFailed     EventStatus = "Failed"
)

// EventDelivery is an event on its way to one subscriber.
type EventDelivery struct {
	Subscriber string
	// Status is Pending, Dispatching, Dispatched or DeadLetter. One that stays
	// Pending past DueOn without Attempts has no process with its subscriber.
	Status    string
	Attempts  int       // calls that failed, and processes that died in one, since the last replay
	LastError string    // of the subscriber, at most 500 bytes
	DueOn     time.Time // of the next call; zero: none
	// DispatchedOn and DeadOn are when it ended.
	DispatchedOn, DeadOn time.Time
}

// Events lists the events of the responses that q selects, in the order in which
// they were submitted; zero, or more than 100, for Limit means 100.
func (s *Service) Events(ctx context.Context, scope Scope, q ResponseQuery) (out []OutboxEvent, err error) {
	if q.Limit <= 0 || q.Limit > exportPage {
		q.Limit = exportPage
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := q.find(ctx, tx, scope, "survey_id")
		if err != nil {
			return err
		}
		out = make([]OutboxEvent, len(rows))
		for i, r := range rows {
			if out[i], err = eventOf(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Event is the event of the response to an instance, or [storage.ErrNotFound].
func (s *Service) Event(ctx context.Context, scope Scope, publicID string) (out OutboxEvent, err error) {
	if scope == storage.AnyScope {
		return out, errAnyScope
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		row, err := responses.Get(ctx, tx, scope, publicID)
		if err != nil {
			return err
		}
		out, err = eventOf(ctx, tx, row)
		return err
	})
	return out, err
}

func eventOf(ctx context.Context, tx storage.Tx, r *responseRow) (OutboxEvent, error) {
	e := OutboxEvent{
		Position: r.position(), EventID: eventID(r.Key), EventType: EventResponseCompleted, PublicID: r.Key, SurveyID: r.SurveyID,
		CreatedOn: r.SubmittedOn, Status: EventDispatched,
	}
	rows, err := outbox.Deliveries(ctx, tx, r.Scope, e.EventID)
	for _, d := range rows {
		e.Deliveries = append(e.Deliveries, EventDelivery{
			Subscriber: subscriberOf(d.Type), Status: d.Status, Attempts: d.Attempts, LastError: d.Diagnostics,
			DueOn: d.DueOn, DispatchedOn: d.DispatchedOn, DeadOn: d.DeadOn,
		})
		switch {
		case d.Status == outbox.StatusDeadLetter:
			e.Status = EventFailed
		case d.Status != outbox.StatusDispatched && e.Status != EventFailed:
			e.Status = EventPending
		}
	}
	return e, err
}
