package keys

import (
	"strconv"
	"strings"
)

// NotificationEvent is the NotificationEventKey, the row key of a job that an
// entity's event gave rise to (Communication - System architecture, "Key
// policy"):
//
//	event:{entityType}:{entity}:{eventType}:{eventId}:{notificationType}
//
// One event may give rise to several notifications, so their type is part of
// it. EventType is the entity's own; a notification's event type is mapped
// from it explicitly and never assumed to be equal.
type NotificationEvent struct {
	EntityType       string // the kind of entity
	Entity           string // its id
	EventType        string // what happened to it
	EventID          string // the id of this event, the same when it is delivered again
	NotificationType string // what is sent about it
}

// Key builds the key. The error is a [*PartError].
func (k NotificationEvent) Key() (string, error) {
	b := newBuilder("notification event", "event")
	b.part("entityType", k.EntityType)
	b.part("entity", k.Entity)
	b.part("eventType", k.EventType)
	b.part("eventId", k.EventID)
	b.part("notificationType", k.NotificationType)
	return b.key()
}

func (NotificationEvent) parsed() {}

func parseEvent(key string) (Parsed, error) {
	c, err := components("notification event", key, 6)
	if err != nil {
		return nil, err
	}
	return NotificationEvent{EntityType: c[1], Entity: c[2], EventType: c[3], EventID: c[4], NotificationType: c[5]}, nil
}

// SurveyInstance is the identity of the link that one event offers to one
// customer, a format of Belfry's own:
//
//	survey:{survey}:{trigger}:{recipeHash}
//	survey:{survey}:{recipeHash}
//
// The first keeps the triggers of a survey apart, so that two of them with one
// recipe do not swallow each other's events. The second lets them share, as in
// (Triggers & Scheduler, "About UniqueHash").
type SurveyInstance struct {
	Survey  int64  // the host's id of the survey, from 1
	Trigger string // the trigger's id; empty: the survey's triggers share
	Hash    string // see RecipeHash
}

// Key builds the key. The error is a [*PartError].
func (k SurveyInstance) Key() (string, error) {
	b := newBuilder("survey instance", "survey")
	if k.Survey < 1 {
		b.refuse("survey", strconv.FormatInt(k.Survey, 10), "must be 1 or more")
	}
	b.literal(strconv.FormatInt(k.Survey, 10))
	if k.Trigger != "" {
		b.part("trigger", k.Trigger)
	}
	if !isHash(k.Hash) {
		b.refuse("recipeHash", k.Hash, "is not 64 lower-case hex digits")
	}
	b.literal(k.Hash)
	return b.key()
}

func (SurveyInstance) parsed() {}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func parseSurveyInstance(key string) (Parsed, error) {
	c := strings.Split(key, ":")
	if len(c) != 3 && len(c) != 4 {
		return nil, &PartError{Kind: "survey instance", Problem: "has " + strconv.Itoa(len(c)) + " components, want 3 or 4"}
	}
	n, err := strconv.ParseInt(c[1], 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != c[1] {
		return nil, &PartError{Kind: "survey instance", Part: "survey", Value: excerpt(c[1]), Problem: "is not a whole number"}
	}
	k := SurveyInstance{Survey: n, Hash: c[len(c)-1]}
	if len(c) == 4 {
		if k.Trigger = c[2]; k.Trigger == "" {
			return nil, &PartError{Kind: "survey instance", Part: "trigger", Problem: "is empty"}
		}
	}
	return k, nil
}
