package automation

import (
	"context"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// sourceState is a row of automation_source: how far the events of an entity
// have come. Whoever derives rows from the state of an entity writes it first,
// so that an event that loaded an old state cannot undo a newer one. It is never
// due.
type sourceState struct {
	storage.Record
	SourceType    string `db:"source_type,fixed,plain"`
	Source        string `db:"source,fixed,person"`
	SourceVersion int64  `db:"source_version"` // zero: without versions
	EventType     string `db:"event_type,plain"`
	EventID       string `db:"event_id,plain"`
}

var sources = driver.Define[sourceState]("automation_source").Grows(driver.WithEntities).Limit(maxRow)

// newSourceState is the row that an event asks for. The error is a
// *keys.PartError.
func newSourceState(e Event) (*sourceState, error) {
	key, err := keys.Join(e.Source.Type, e.Source.ID)
	if err != nil {
		return nil, err
	}
	return &sourceState{
		Record: storage.Record{Scope: e.Scope, Key: key}, SourceType: e.Source.Type, Source: e.Source.ID,
		SourceVersion: e.Version, EventType: e.Type, EventID: e.ID,
	}, nil
}

// stamped is the answer of stamp: the newest version that the source has shown,
// and whether the event is not older.
type stamped struct {
	version int64
	fresh   bool
}

// stamp takes the sources' rows for events until the transaction ends. An older
// event does not get its row; one without a version does, and leaves the version.
func stamp(ctx context.Context, tx storage.Tx, events ...Event) ([]stamped, error) {
	wants := make([]*sourceState, len(events))
	older := map[*sourceState]bool{}
	for i, e := range events {
		want, err := newSourceState(e)
		if err != nil {
			return nil, err
		}
		wants[i] = want
	}
	got, err := sources.Ensure(ctx, tx, func(stored, want *sourceState) (storage.Outcome, bool) {
		older[want] = want.SourceVersion != 0 && want.SourceVersion < stored.SourceVersion
		if older[want] {
			return storage.Unchanged, false
		}
		stored.SourceVersion = max(stored.SourceVersion, want.SourceVersion)
		stored.EventType, stored.EventID = want.EventType, want.EventID
		return storage.Updated, true
	}, wants...)
	out := make([]stamped, len(got))
	for i, g := range got {
		out[i] = stamped{g.Row.SourceVersion, !older[wants[i]]}
	}
	return out, err
}
