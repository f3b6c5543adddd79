package keys

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
