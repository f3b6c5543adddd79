package survey

import (
	"context"
	"encoding/json"
	"time"
)

// Subscriber is a system that hears of responses (Triggers & Scheduler, "Subscriber
// wire-up"). It is called from several goroutines, at least once for each response,
// and again until it returns nil: after waits that grow from a minute to a day,
// eight times, and then no more until somebody replays the dead letter.
type Subscriber interface {
	// Key names the subscriber for ever, such as "servicebus:csi-tickets": events
	// wait for it under this name.
	Key() string
	Dispatch(ctx context.Context, e ResponseCompleted) error
}

// SubscriberFunc makes a subscriber of a function.
func SubscriberFunc(key string, dispatch func(ctx context.Context, e ResponseCompleted) error) Subscriber {
	return subscriberFunc{key, dispatch}
}

type subscriberFunc struct {
	key      string
	dispatch func(ctx context.Context, e ResponseCompleted) error
}

func (s subscriberFunc) Key() string { return s.key }

func (s subscriberFunc) Dispatch(ctx context.Context, e ResponseCompleted) error {
	return s.dispatch(ctx, e)
}

// ResponseCompleted is the event of a response. It holds all that a subscriber
// needs (Triggers & Scheduler, "What the payload contains").
type ResponseCompleted struct {
	// EventID is the same however often the event is dispatched.
	EventID             string          `json:"eventId"`
	EventType           string          `json:"eventType"` // "response-completed"
	Scope               Scope           `json:"scope,omitempty"`
	SurveyID            int64           `json:"surveyId"`
	SurveyVersion       int64           `json:"surveyVersion"`
	SurveyIntegrationID string          `json:"surveyIntegrationId"`
	BusinessUnit        string          `json:"businessUnit,omitempty"`
	InstancePublicID    string          `json:"instancePublicId"`
	TriggerID           string          `json:"triggerId"`
	CustomerRef         string          `json:"customerRef"`
	RecipientAddress    string          `json:"recipientAddress"`
	RecipientLocale     string          `json:"recipientLocale"`
	CompletedOn         time.Time       `json:"completedAt"`
	AgentID             string          `json:"agentId,omitempty"`
	Answers             json.RawMessage `json:"answers"`
	CandidateMetadata   json.RawMessage `json:"candidateMetadataJson"`
}
