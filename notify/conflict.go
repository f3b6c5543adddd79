package notify

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// conflict records one mismatch for support: once, however often the same wish
// is repeated.
type conflict struct {
	storage.Record
	Artifact     Artifact  `db:"artifact,fixed"`
	PartitionKey string    `db:"partition_key,fixed"`
	RowKey       string    `db:"row_key,fixed"`
	Field        string    `db:"field,fixed"`
	Stored       string    `db:"stored,fixed"`
	Wanted       string    `db:"wanted,fixed"`
	CreatedOn    time.Time `db:"created_on,fixed"`
}

var conflicts = storage.Define[conflict]("notification_conflict")

// recordConflicts stores the conflicts among the answers, in their transaction.
func recordConflicts(ctx context.Context, tx storage.Tx, all []Ensured) error {
	var rows []*conflict
	for _, e := range all {
		if e.Conflict != nil {
			rows = append(rows, newConflict(storage.Now(tx.Store()), e))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	keep := func(*conflict, *conflict) (storage.Outcome, bool) { return storage.Unchanged, false }
	_, err := conflicts.Ensure(ctx, tx, keep, rows...)
	return err
}

func newConflict(now time.Time, e Ensured) *conflict {
	c := e.Conflict
	key := keys.Sum("belfry-conflict-1", string(e.Artifact), e.Key, c.Field, c.Stored, c.Wanted)
	return &conflict{
		Record:   storage.Record{Scope: e.Scope, Key: hex.EncodeToString(key[:]), Status: statusRecorded},
		Artifact: e.Artifact, PartitionKey: c.PartitionKey, RowKey: c.RowKey,
		Field: c.Field, Stored: c.Stored, Wanted: c.Wanted, CreatedOn: now,
	}
}
