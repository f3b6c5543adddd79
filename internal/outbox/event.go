package outbox

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// MaxPayload bounds the payload of an event in bytes.
const MaxPayload = 64 << 10

// Event is something that has happened. Its Key is its id, deterministic where
// the same happening may be told twice; its Type is the topic. It is written once
// and never due.
type Event struct {
	storage.Record
	Payload   json.RawMessage `db:"payload,fixed,json"`
	CreatedOn time.Time       `db:"created_on,fixed"`
}

var events = storage.Define[Event]("outbox_event").Limit(MaxPayload + 8<<10)

// subscription says that a subscriber wants a topic. The rows are the same for
// all tenants, so their scope is empty. It is never due.
type subscription struct {
	storage.Record        // Key: topic and subscriber; Type: the subscriber
	Topic          string `db:"topic,fixed"`
}

var subscriptions = storage.Define[subscription]("outbox_subscription")

// Delivery is an event on its way to one subscriber. Its Type is the subscriber's
// key, so that only a process that has the subscriber claims it.
type Delivery struct {
	storage.Record
	EventKey  string    `db:"event_key,fixed"`
	Topic     string    `db:"topic,fixed"`
	CreatedOn time.Time `db:"created_on,fixed"`
	Attempts  int       `db:"attempts"` // calls that failed, and lost leases, since the last replay
	// Diagnostics is the last error, at most 500 bytes.
	Diagnostics  string    `db:"diagnostics"`
	DispatchedOn time.Time `db:"dispatched_on"`
	DeadOn       time.Time `db:"dead_on"` // zero unless it is a dead letter
}

var deliveries = storage.Define[Delivery]("outbox_delivery")

// Schemas lists the tables of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{&events.Schema, &subscriptions.Schema, &deliveries.Schema}
}
