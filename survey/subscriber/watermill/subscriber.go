package watermill

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/belfry-go/belfry/survey"
)

// The metadata of every message, for consumers that route without the payload.
// None of it is personal.
const (
	MetadataEventType        = "event_type"
	MetadataSurveyID         = "survey_id"
	MetadataInstancePublicID = "instance_public_id"
)

var _ survey.Subscriber = (*Subscriber)(nil)

// Subscriber publishes responses to one topic. It is safe for several goroutines if
// its publisher is.
type Subscriber struct {
	key, topic string
	publisher  message.Publisher
}

// New makes a subscriber with that key, such as "nats:surveys", which publishes to
// topic. Closing the publisher stays with the caller. New panics on an empty key or
// topic and on a nil publisher.
func New(key, topic string, publisher message.Publisher) *Subscriber {
	if key == "" || topic == "" || publisher == nil {
		panic("watermill: New needs a key, a topic and a publisher")
	}
	return &Subscriber{key, topic, publisher}
}

// Key returns the key that New was given.
func (s *Subscriber) Key() string { return s.key }

// Dispatch publishes e. Publishers take no context: one that waits without end is
// bounded by its own settings, and delays no other subscriber.
func (s *Subscriber) Dispatch(ctx context.Context, e survey.ResponseCompleted) error {
	payload, err := json.Marshal(e)
	if err != nil {
		return survey.Permanent(err)
	}
	m := message.NewMessageWithContext(ctx, e.EventID, payload)
	m.Metadata.Set(MetadataEventType, e.EventType)
	m.Metadata.Set(MetadataSurveyID, strconv.FormatInt(e.SurveyID, 10))
	m.Metadata.Set(MetadataInstancePublicID, e.InstancePublicID)
	if err := s.publisher.Publish(s.topic, m); err != nil {
		return fmt.Errorf("watermill: publish to %s: %w", s.topic, err)
	}
	return nil
}
