package survey

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Subscriber is a system that hears of responses (Triggers & Scheduler, "Subscriber
// wire-up"). It is called from several goroutines, at least once for each response,
// and again until it returns nil: after waits that grow from a minute to a day,
// eight times, and then no more until a person replays the dead letter. A
// [Permanent] error makes it a dead letter at once; see [RetryAfter] too. One that takes long, or panics, delays no other.
type Subscriber interface {
	// Key names the subscriber for ever, such as "servicebus:csi-tickets": events
	// wait for it under this name.
	Key() string
	// Dispatch takes over one event, perhaps not for the first time: EventID tells.
	// ctx ends when time is up, or when another process has the event.
	Dispatch(ctx context.Context, e ResponseCompleted) error
}

// Permanent marks an error of a subscriber as one that no retry will mend: the event
// is a dead letter at once. It returns nil for nil.
func Permanent(err error) error { return permanent.Mark(err) }

// RetryAfter makes an error after which a subscriber is left alone with the event
// for some time, a day at most. It is never asked sooner than it would be without.
func RetryAfter(wait time.Duration, err error) error {
	return &outbox.WaitError{Wait: wait, Err: err}
}

// NoteMessageID keeps, with the call of a subscriber that ctx is for, what the other
// system knows the event by, in at most 500 bytes. Elsewhere it does nothing.
func NoteMessageID(ctx context.Context, id string) { outbox.NoteMessageID(ctx, id) }

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

// Subscribe adds subscribers, before pollers run the passes of s. From the first
// poll on every response that no trigger routes elsewhere is kept for them,
// whichever process takes it; older ones they get by replay only. It panics on a
// nil subscriber, and on a key that is empty or taken.
func (s *Service) Subscribe(subs ...Subscriber) {
	for _, sub := range subs {
		if sub == nil || sub.Key() == "" {
			panic("survey: Subscribe: a nil subscriber, or one without a key")
		}
		s.box.Subscribe(outbox.Subscriber{
			Key: outboxKey(sub.Key()), Topics: []string{topicCompleted}, Timeout: s.options.CallTimeout,
			Dispatch: func(ctx context.Context, e outbox.Event) error {
				var c ResponseCompleted
				if err := json.Unmarshal(e.Payload, &c); err != nil {
					return Permanent(err)
				}
				c.DispatchedOn = driver.Now(s.store)
				return sub.Dispatch(ctx, c)
			},
		})
	}
}

// ResponseCompleted is the event of a response. It holds all that a subscriber
// needs (Triggers & Scheduler, "What the payload contains"). That of an anonymous survey has an
// InstancePublicID of its own, the day as CompletedOn, the survey and the answers, and no more.
type ResponseCompleted struct {
	// EventID is the same however often the event is dispatched.
	EventID             string          `json:"eventId"`
	EventType           string          `json:"eventType"` // EventResponseCompleted
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
	Locale              string          `json:"locale,omitempty"` // that the form was filled in in
	Answers             json.RawMessage `json:"answers"`
	CandidateMetadata   json.RawMessage `json:"candidateMetadataJson"`
	// DispatchedOn is when this call began, by the store's clock. It is not a part of
	// the event.
	DispatchedOn time.Time `json:"-"`
}

// EventResponseCompleted is the EventType of a [ResponseCompleted].
const EventResponseCompleted = "response-completed"

// topicCompleted is its topic in the outbox, which other domains share.
const topicCompleted = "survey/" + EventResponseCompleted

// eventID names the event of an instance's response, in one tenant as among all.
func eventID(publicID string) string { return "survey-" + EventResponseCompleted + "-" + publicID }

// outboxKey is a subscriber in the outbox, where another domain may have one of the
// same key.
func outboxKey(subscriber string) string { return "survey/" + subscriber }

// subscriberOf is the subscriber that an outboxKey stands for.
func subscriberOf(key string) string { return strings.TrimPrefix(key, outboxKey("")) }

// emit stores the event of a response, with a delivery for each subscriber that
// the routing selects.
func (s *core) emit(ctx context.Context, tx storage.Tx, row *instanceRow, v *version, t *form.Trigger, r *responseRow, a *form.Answers) error {
	payload, err := json.Marshal(ResponseCompleted{
		EventID: eventID(row.PublicID), EventType: EventResponseCompleted, Scope: row.Scope,
		SurveyID: row.SurveyID, SurveyVersion: row.SurveyVersion, SurveyIntegrationID: v.IntegrationID, BusinessUnit: row.BusinessUnit,
		InstancePublicID: row.PublicID, TriggerID: row.TriggerID, CustomerRef: row.CustomerRef,
		RecipientAddress: row.RecipientAddress, RecipientLocale: row.RecipientLocale,
		CompletedOn: r.CompletedOn, AgentID: r.AgentID, Locale: r.Locale, Answers: a.JSON, CandidateMetadata: row.Metadata,
	})
	if err != nil {
		return err
	}
	to, err := s.route(ctx, tx, t, a)
	if err != nil {
		return err
	}
	return outbox.EmitTo(ctx, tx, outbox.Event{
		Scope: row.Scope, Key: eventID(row.PublicID), Topic: topicCompleted, Payload: payload, On: r.SubmittedOn,
	}, to...)
}

// route names the subscribers that a response is for: those of the trigger whose
// filters its answers match, and without any in the trigger everybody who is
// registered, here or in another process, or expected.
func (s *core) route(ctx context.Context, from driver.Reader, t *form.Trigger, a *form.Answers) ([]string, error) {
	if t != nil && len(t.Subscribers) > 0 {
		var to []string
		for _, r := range t.Subscribers {
			if r.Filter.Match(a.Values) {
				to = append(to, outboxKey(r.Key))
			}
		}
		return unique(to), nil
	}
	to, err := outbox.Listeners(ctx, from, topicCompleted)
	to = append(to, s.box.Keys()...)
	for _, key := range s.options.ExpectedSubscribers {
		to = append(to, outboxKey(key))
	}
	return unique(to), err
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
