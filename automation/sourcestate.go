package automation

import (
	"context"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// sourceState is a row of automation_source: how far the events of an entity
// have come. Whoever derives rows from the state of an entity writes it first,
// so that an event that loaded an old state cannot undo a newer one. It is never
// due.
type sourceState struct {
	storage.Record
	SourceType    string `db:"source_type,fixed"`
	Source        string `db:"source,fixed"`
	SourceVersion int64  `db:"source_version"` // zero: without versions
	EventType     string `db:"event_type"`
	EventID       string `db:"event_id"`
}

var sources = storage.Define[sourceState]("automation_source").Limit(maxRow)

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

// stamp takes the source's row for e until the transaction ends, and tells the
// version that the source has shown. An older event does not get it; one without
// a version does, and leaves the version.
func stamp(ctx context.Context, tx storage.Tx, e Event) (version int64, fresh bool, err error) {
	want, err := newSourceState(e)
	if err != nil {
		return 0, false, err
	}
	fresh = true
	got, err := sources.Ensure(ctx, tx, func(stored, want *sourceState) (storage.Outcome, bool) {
		fresh = want.SourceVersion == 0 || want.SourceVersion >= stored.SourceVersion
		if !fresh {
			return storage.Unchanged, false
		}
		stored.SourceVersion = max(stored.SourceVersion, want.SourceVersion)
		stored.EventType, stored.EventID = want.EventType, want.EventID
		return storage.Updated, true
	}, want)
	if err != nil {
		return 0, false, err
	}
	return got[0].Row.SourceVersion, fresh, nil
}
