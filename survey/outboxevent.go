package survey

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// OutboxEvent is the event of one response on its way to its subscribers (Triggers
// & Scheduler, "SurveyOutboxEvent state machine").
type OutboxEvent struct {
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
	// Calls are the last twenty, the oldest first, those before a replay too.
	Calls []SubscriberCall
	// DispatchedOn and DeadOn are when it ended.
	DispatchedOn, DeadOn time.Time
}

// SubscriberCall is one call of a subscriber: On is when it was over, Error what it
// answered, in at most 500 bytes, and MessageID what [NoteMessageID] said.
type SubscriberCall = outbox.Call

// Events lists the events of the responses that q selects, in the order in which
// they were submitted; zero, or more than 100, for Limit means 100.
func (s Support) Events(ctx context.Context, scope Scope, q ResponseQuery) (out []OutboxEvent, next string, err error) {
	if q.Limit <= 0 || q.Limit > exportPage {
		q.Limit = exportPage
	}
	err = s.read(ctx, func(from driver.Reader) error {
		rows, after, err := q.find(ctx, from, scope, "survey_id")
		if err != nil {
			return err
		}
		out, next = make([]OutboxEvent, len(rows)), after
		for i, r := range rows {
			if out[i], err = eventOf(ctx, from, r); err != nil {
				return err
			}
		}
		return nil
	})
	return out, next, err
}

// Event is the event of the response to an instance, or [storage.ErrNotFound].
func (s Support) Event(ctx context.Context, scope Scope, publicID string) (out OutboxEvent, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		row, err := responses.Get(ctx, from, scope, publicID)
		if err != nil {
			return err
		}
		out, err = eventOf(ctx, from, row)
		return err
	})
	return out, err
}

func eventOf(ctx context.Context, from driver.Reader, r *responseRow) (OutboxEvent, error) {
	e := OutboxEvent{
		EventID: eventID(r.Key), EventType: EventResponseCompleted, PublicID: r.Key, SurveyID: r.SurveyID,
		CreatedOn: r.SubmittedOn, Status: EventDispatched,
	}
	rows, err := outbox.Deliveries(ctx, from, r.Scope, e.EventID)
	for _, d := range rows {
		e.Deliveries = append(e.Deliveries, EventDelivery{
			Subscriber: subscriberOf(d.Subscriber), Status: d.Status, Attempts: d.Attempts, LastError: d.Diagnostics, Calls: d.Calls,
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

// DeadLetter is a response that a [Subscriber] was not able to take; Event is the
// PublicID of its instance.
type DeadLetter = outbox.DeadLetter

// DeadLetters lists what was given up for a subscriber, the oldest first, and says
// where the next page begins; empty after the last.
func (s Support) DeadLetters(ctx context.Context, scope Scope, subscriber string, p storage.Page) (out []DeadLetter, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		out, next, err = outbox.DeadLetters(ctx, from, scope, outboxKey(subscriber), p)
		return err
	})
	for i := range out {
		out[i].Event = strings.TrimPrefix(out[i].Event, eventID(""))
	}
	return out, next, err
}

// ReplayDeadLetters has a subscriber called again for what was given up, at most a
// thousand of them, and says how many. They are due at once, with their attempts
// counted from zero, and the audit says who asked for it. A dry run only counts.
func (s Support) ReplayDeadLetters(ctx context.Context, scope Scope, subscriber string, by By, opts *ActionOptions) (n int, err error) {
	err = s.inTx(ctx, func(tx storage.Tx) (err error) {
		n, err = outbox.ReplayDead(ctx, tx, scope, outboxKey(subscriber), by, opts)
		return err
	})
	return n, err
}

// Unsubscribe ends what a subscriber gets that is gone for good: no response is kept for it
// any more, of any tenant, and what waits for it, or was given up, is deleted, at most a
// thousand deliveries in a call, which it counts. Take the subscriber out of every process
// first, or it is subscribed again. The audit says who asked for it. A dry run only counts.
func (s Support) Unsubscribe(ctx context.Context, subscriber string, by By, opts *ActionOptions) (deleted int, err error) {
	err = s.inTx(ctx, func(tx storage.Tx) (err error) {
		deleted, err = outbox.Unsubscribe(ctx, tx, outboxKey(subscriber), by, opts)
		return err
	})
	return deleted, err
}

// ReplayEvent has a subscriber called for one response, whether or not it was
// called before, or the response was for it. One that waits for its call, or is
// under way, is refused with [ErrActionRefused]; a response that does not exist is
// [storage.ErrNotFound]. The audit says who asked for it.
func (s Support) ReplayEvent(ctx context.Context, scope Scope, publicID, subscriber string, by By) error {
	return s.inTx(ctx, func(tx storage.Tx) error {
		if _, err := responses.Get(ctx, tx, scope, publicID); err != nil {
			return err
		}
		key, err := keys.Join(eventID(publicID), outboxKey(subscriber))
		if err != nil {
			return err
		}
		err = outbox.Replay(ctx, tx, scope, key, by)
		if errors.Is(err, storage.ErrNotFound) {
			_, err = outbox.Readdress(ctx, tx, scope, outboxKey(subscriber), []string{eventID(publicID)}, by, false)
		}
		return err
	})
}

// ReplayMissed gives a subscriber the responses that q selects and that were never
// addressed to it, such as those from before it was there, and says how many, in
// pages of transactions. Where a response's trigger routes to subscribers it gets those
// that the routes select for it: those of the version that was answered, or of the
// version that is published. What it was called for, or waits for it, stays as it is, so
// that a call that was broken off is simply repeated. Limit counts responses looked
// at; zero: all. A dry run only counts.
func (s Support) ReplayMissed(ctx context.Context, scope Scope, subscriber string, q ResponseQuery, by By, opts *ActionOptions) (int, error) {
	total := 0
	_, err := s.responses().walk(ctx, scope, q, []string{"survey_id", "survey_version", "trigger_id", "answers"}, func(page []*responseRow) error {
		ids, err := s.routed(ctx, scope, subscriber, page)
		if err != nil {
			return err
		}
		n := 0
		err = s.inTx(ctx, func(tx storage.Tx) (err error) {
			n, err = outbox.Readdress(ctx, tx, scope, outboxKey(subscriber), ids, by, audit.IsDry(opts))
			return err
		})
		total += n
		return err
	})
	return total, err
}

// routed gives the events of the responses that are for a subscriber.
func (s Support) routed(ctx context.Context, scope Scope, subscriber string, page []*responseRow) (events []string, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		events = nil
		known := map[[2]int64]*version{}
		find := func(surveyID, number int64) (v *version, err error) {
			at := [2]int64{surveyID, number}
			if v = known[at]; v == nil {
				v, err = s.versionOf(ctx, from, scope, surveyID, number)
				known[at] = v
			}
			return v, err
		}
		published := map[int64]int64{}
		for _, r := range page {
			if _, seen := published[r.SurveyID]; !seen {
				survey, err := surveys.Get(ctx, from, scope, surveyKey(r.SurveyID))
				if err != nil {
					return err
				}
				published[r.SurveyID] = survey.PublishedVersion
			}
			for _, number := range []int64{r.SurveyVersion, published[r.SurveyID]} {
				v, err := find(r.SurveyID, cmp.Or(number, r.SurveyVersion))
				if err != nil {
					return err
				}
				if v.selects(r, subscriber) {
					events = append(events, eventID(r.Key))
					break
				}
			}
		}
		return nil
	})
	return events, err
}

// selects reports whether the routing of v sends a response to a subscriber, as
// [core.route] does when the response comes.
func (v *version) selects(r *responseRow, subscriber string) bool {
	if v.Anonymous { // of which trigger it is is not known
		return slices.ContainsFunc(v.AllTriggers(), func(t form.Trigger) bool { return v.routes(&t, r, subscriber) })
	}
	t := v.Trigger(r.TriggerID)
	if t == nil {
		return v.Number == r.SurveyVersion
	}
	return v.routes(t, r, subscriber)
}

func (v *version) routes(t *form.Trigger, r *responseRow, subscriber string) bool {
	if len(t.Subscribers) == 0 {
		return true
	}
	a, err := v.Accept(r.Answers)
	return err == nil && slices.ContainsFunc(t.Subscribers, func(to form.Route) bool {
		return to.Key == subscriber && to.Filter.Match(a.Values)
	})
}
