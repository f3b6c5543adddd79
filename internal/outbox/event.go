package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// MaxPayload bounds the payload of an event in bytes.
const MaxPayload = 1<<20 + 128<<10

// Event is something that has happened. Its Key is its id, deterministic where
// the same happening may be told twice. It is written once.
type Event struct {
	Scope   storage.Scope
	Key     string
	Topic   string
	Payload json.RawMessage // at most MaxPayload bytes
	// On is when it happened; zero: now. If that is the beginning of a day in UTC, the day alone is
	// known, and what its subscribers have done about it is dated by days, too.
	On time.Time
}

// eventRow has the columns of an [Event]; its Kind is the topic. It is never due.
type eventRow struct {
	storage.Record
	Payload   json.RawMessage `db:"payload,fixed,json,content"`
	CreatedOn time.Time       `db:"created_on,fixed"`
}

var events = driver.Define[eventRow]("outbox_event").Grows(driver.WithWork).
	Kept("Retention.Events", "until all subscribers have it").Limit(MaxPayload + 8<<10)

// row has what an emitter chooses.
func (e *Event) row() *eventRow {
	return &eventRow{Record: storage.Record{Scope: e.Scope, Key: e.Key, Kind: e.Topic}, Payload: e.Payload}
}

func (e *eventRow) view() Event {
	return Event{Scope: e.Scope, Key: e.Key, Topic: e.Kind, Payload: e.Payload}
}

// subscription says that a subscriber wants a topic. The rows are the same for
// all tenants, so their scope is empty. It is never due.
type subscription struct {
	storage.Record        // Key: topic and subscriber; Kind: the subscriber
	Topic          string `db:"topic,fixed,plain"`
}

var subscriptions = driver.Define[subscription]("outbox_subscription").Grows(driver.Bounded).
	Kept(driver.Always, "one for each subscriber and topic")

// Delivery is an event on its way to one subscriber.
type Delivery struct {
	Subscriber string
	Status     string    // one of the Status… constants
	DueOn      time.Time // of the next call; zero: none
	Attempts   int       // calls that failed, and lost leases, since the last replay
	// Diagnostics is the last error, at most 500 bytes.
	Diagnostics string
	// Calls are the last twenty, the oldest first, those before a replay too.
	Calls []Call
	// DispatchedOn and DeadOn are when it ended; zero unless it did.
	DispatchedOn, DeadOn time.Time
}

// deliveryRow has the columns of a [Delivery]. Its Kind is the subscriber's key, so
// that only a process that has the subscriber claims it.
type deliveryRow struct {
	driver.Due
	EventKey     string    `db:"event_key,fixed,plain"`
	Topic        string    `db:"topic,fixed,plain"`
	CreatedOn    time.Time `db:"created_on,fixed"`
	Attempts     int       `db:"attempts"`
	Diagnostics  string    `db:"diagnostics,content"`
	Calls        []Call    `db:"calls,json,content"`
	DispatchedOn time.Time `db:"dispatched_on"`
	DeadOn       time.Time `db:"dead_on"`
}

var deliveries = driver.Define[deliveryRow]("outbox_delivery").Grows(driver.WithWork).
	Kept("Retention.Events", "calls of a subscriber; dead letters wait for a person")

func (d *deliveryRow) view() Delivery {
	return Delivery{
		Subscriber: d.Kind, Status: d.Status, DueOn: d.DueOn, Attempts: d.Attempts,
		Diagnostics: d.Diagnostics, Calls: d.Calls, DispatchedOn: d.DispatchedOn, DeadOn: d.DeadOn,
	}
}

// Schemas lists the tables of this package.
func Schemas() []*driver.Schema {
	return []*driver.Schema{&events.Schema, &subscriptions.Schema, &deliveries.Schema}
}

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

func (d *deliveryRow) become(status string) {
	Machine.Must(d.Status, status)
	d.Status = status
}

// dated is a moment as a delivery tells it: see [Event.On].
func (d *deliveryRow) dated(now time.Time) time.Time {
	const day = 24 * time.Hour
	if d.CreatedOn.Equal(d.CreatedOn.Truncate(day)) {
		return now.Truncate(day)
	}
	return now
}

func (d *deliveryRow) dispatched(now time.Time, messageID string) {
	d.become(StatusDispatched)
	d.note(Call{On: d.dated(now), MessageID: messageID})
	d.DispatchedOn, d.DueOn, d.Diagnostics = d.dated(now), time.Time{}, ""
}

// failed is a call that failed, whatever was decided before.
func (d *deliveryRow) failed(now time.Time, text, messageID string, forGood bool) {
	d.Status, d.DispatchedOn = StatusDispatching, time.Time{}
	d.Attempts++
	d.Diagnostics = storable(text)
	d.note(Call{On: d.dated(now), Error: d.Diagnostics, MessageID: messageID})
	wait, more := waits.After(d.Key, d.Attempts)
	if forGood || !more {
		d.become(StatusDeadLetter)
		d.DeadOn, d.DueOn = d.dated(now), time.Time{}
		return
	}
	d.become(StatusPending)
	d.DueOn = driver.Time(now.Add(wait))
}

// postpone grants the pause that a subscriber asks for.
func (d *deliveryRow) postpone(now time.Time, err error) {
	asked := (*WaitError)(nil)
	if d.DueOn.IsZero() || !errors.As(err, &asked) {
		return
	}
	if until := driver.Time(now.Add(min(asked.Wait, maxWait))); until.After(d.DueOn) {
		d.DueOn = until
	}
}

func (d *deliveryRow) released(now time.Time) {
	d.become(StatusPending)
	d.DueOn = now
}

// replayed starts afresh.
func (d *deliveryRow) replayed(now time.Time) {
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

// maxSubscriptions bounds what one emission looks at.
const maxSubscriptions = 10_000

// Emit stores events, in the transaction in which they happened, with a delivery for each
// present subscriber of their topic. An event with a known id is skipped together with
// its deliveries.
func Emit(ctx context.Context, tx storage.Tx, want ...Event) error {
	rows, isNew, err := insert(ctx, tx, want)
	if err != nil {
		return err
	}
	listening, err := listeners(ctx, tx, rows)
	if err != nil {
		return err
	}
	var out []*deliveryRow
	for i, e := range rows {
		if isNew[i] {
			if out, err = addressed(out, e, driver.Now(tx.Store()), listening[e.Kind]); err != nil {
				return err
			}
		}
	}
	_, err = deliveries.Insert(ctx, tx, out...)
	return err
}

// EmitTo stores one event like [Emit], with a delivery for each of the subscribers
// instead, whether they have subscribed yet or not.
func EmitTo(ctx context.Context, tx storage.Tx, e Event, subscribers ...string) error {
	rows, isNew, err := insert(ctx, tx, []Event{e})
	if err != nil || !isNew[0] {
		return err
	}
	out, err := addressed(nil, rows[0], driver.Now(tx.Store()), subscribers)
	if err != nil {
		return err
	}
	_, err = deliveries.Insert(ctx, tx, out...)
	return err
}

// insert stores events and tells which were new.
func insert(ctx context.Context, tx storage.Tx, want []Event) ([]*eventRow, []bool, error) {
	now := driver.Now(tx.Store())
	rows := make([]*eventRow, len(want))
	for i, e := range want {
		if len(e.Payload) > MaxPayload {
			return nil, nil, fmt.Errorf("outbox: event %s: a payload of %d bytes, more than %d", e.Topic, len(e.Payload), MaxPayload)
		}
		rows[i] = e.row()
		if rows[i].CreatedOn = e.On; e.On.IsZero() {
			rows[i].CreatedOn = now
		}
	}
	isNew, err := events.Insert(ctx, tx, rows...)
	return rows, isNew, err
}

// addressed adds the deliveries of one event.
func addressed(out []*deliveryRow, e *eventRow, due time.Time, subscribers []string) ([]*deliveryRow, error) {
	for _, subscriber := range subscribers {
		key, err := keys.Join(e.Key, subscriber)
		if err != nil {
			return nil, err
		}
		out = append(out, &deliveryRow{
			Due:      driver.Due{Record: storage.Record{Scope: e.Scope, Key: key, Kind: subscriber, Status: StatusPending}, DueOn: due},
			EventKey: e.Key, Topic: e.Kind, CreatedOn: e.CreatedOn,
		})
	}
	return out, nil
}

// Listeners are those who have subscribed to a topic so far.
func Listeners(ctx context.Context, from driver.Reader, topic string) ([]string, error) {
	found, err := listeners(ctx, from, []*eventRow{{Record: storage.Record{Kind: topic}}})
	return found[topic], err
}

// Wanted reports which of the topics have subscribers.
func Wanted(ctx context.Context, from driver.Reader, topics ...string) (map[string]bool, error) {
	rows := make([]*eventRow, len(topics))
	for i, t := range topics {
		rows[i] = &eventRow{Record: storage.Record{Kind: t}}
	}
	listening, err := listeners(ctx, from, rows)
	out := map[string]bool{}
	for topic := range listening {
		out[topic] = true
	}
	return out, err
}

// listeners are the subscribers by topic.
func listeners(ctx context.Context, from driver.Reader, rows []*eventRow) (map[string][]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	seen := map[string]bool{}
	var topics []string
	for _, e := range rows {
		if !seen[e.Kind] {
			seen[e.Kind], topics = true, append(topics, e.Kind)
		}
	}
	found, err := subscriptions.Find(ctx, from, "", driver.Query{
		Where: []driver.Cond{driver.In("topic", topics)}, OrderBy: "key", Limit: maxSubscriptions,
	})
	out := map[string][]string{}
	for _, s := range found {
		out[s.Topic] = append(out[s.Topic], s.Kind)
	}
	return out, err
}
