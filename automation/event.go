package automation

import "errors"

// Event tells that something happened to an entity of the host.
type Event struct {
	Scope Scope
	// ID is the event's own id, the same when it is delivered again. It is required
	// where an [ImmediateNotificationProvider] listens.
	ID string
	// Type routes the event to the providers that listen to it; required.
	Type string
	// Source is the entity that it happened to; required.
	Source Source
	// Version is the version of the entity, or its time of change in
	// microseconds: any number that grows with each change. An event that is
	// older than what the source has shown already is not applied. Zero means that
	// the source has no versions: then providers are called inside the
	// transaction, after the row that orders events was written, and see at least
	// the state of every event before.
	Version int64
	// Data is handed to the providers and not stored. Inside a transaction of the
	// host, a provider that has to read through it finds it here.
	Data any
}

func (e Event) check() error {
	switch {
	case e.Type == "":
		return errors.New("automation: event without a Type")
	case e.Version < 0:
		return errors.New("automation: event " + e.Type + ": negative Version")
	}
	return nil
}
