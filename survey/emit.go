package survey

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/storage"
)

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
func (s *Service) emit(ctx context.Context, tx storage.Tx, row *Instance, v *version, r *responseRow, a *answerSet) error {
	payload, err := json.Marshal(ResponseCompleted{
		EventID: eventID(row.PublicID), EventType: EventResponseCompleted, Scope: row.Scope,
		SurveyID: row.SurveyID, SurveyVersion: row.SurveyVersion, SurveyIntegrationID: v.IntegrationID, BusinessUnit: row.BusinessUnit,
		InstancePublicID: row.PublicID, TriggerID: row.TriggerID, CustomerRef: row.CustomerRef,
		RecipientAddress: row.RecipientAddress, RecipientLocale: row.RecipientLocale,
		CompletedOn: r.CompletedOn, AgentID: r.AgentID, Answers: a.json, CandidateMetadata: row.Metadata,
	})
	if err != nil {
		return err
	}
	to, err := s.route(ctx, tx, v.trigger(row.TriggerID), a)
	if err != nil {
		return err
	}
	return outbox.EmitTo(ctx, tx, outbox.Event{
		Record: storage.Record{Scope: row.Scope, Key: eventID(row.PublicID), Type: topicCompleted}, Payload: payload,
	}, to...)
}

// route names the subscribers that a response is for: those of the trigger whose
// filters its answers match, and without any in the trigger everybody who is
// registered, here or in another process, or expected.
func (s *Service) route(ctx context.Context, tx storage.Tx, t *Trigger, a *answerSet) ([]string, error) {
	if t != nil && len(t.Subscribers) > 0 {
		var to []string
		for _, r := range t.Subscribers {
			if r.Filter.Match(a.values) {
				to = append(to, outboxKey(r.Key))
			}
		}
		return unique(to), nil
	}
	to, err := outbox.Listeners(ctx, tx, topicCompleted)
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
