// Package audit is the insert-only record of what was done to rows, by people
// and beside the happy path by programs: who, what, when and why. An entry is
// written in the transaction of the change that it tells of, so that neither
// exists without the other.
package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Entry is one change that somebody made to one row. It is never due, claimed or
// written again.
type Entry struct {
	storage.Record
	// Subject is the table, SubjectKey the key of the row that was changed.
	Subject    string `db:"subject,fixed"`
	SubjectKey string `db:"subject_key,fixed"`
	// SubjectID is the row's ID, which is a part of the entry's key only: a row that
	// was deleted and made again begins with its versions anew. Not read back.
	SubjectID int64
	// SubjectVersion is the version that the change gave to the row.
	SubjectVersion int64 `db:"subject_version,fixed"`
	// Action is what was done: "Hold", "Deactivated".
	Action string `db:"action,fixed"`
	Actor  string `db:"actor,fixed"`
	Reason string `db:"reason,fixed"`
	// From and To are the statuses before and after.
	From string    `db:"from_status,fixed"`
	To   string    `db:"to_status,fixed"`
	On   time.Time `db:"done_on,fixed"`
}

// FirstVersion is the version of a row that was just made.
const FirstVersion = 1

// Table is where entries are kept. Nothing but Write inserts into it.
var Table = storage.Define[Entry]("audit_entry").Limit(8 << 10)

// Write inserts entries. Each has its Scope, Subject, SubjectKey, SubjectID and
// SubjectVersion, which make its key: one version of a row has one entry, and
// the entries of a row are in a range of the key index in the order of its
// versions. Only who made a row may be told more than once, and the first stands:
// whoever is about to overwrite it in the row does so.
func Write(ctx context.Context, tx storage.Tx, entries ...*Entry) error {
	for _, e := range entries {
		e.Key = rowPrefix(e.Subject, e.SubjectKey) + fmt.Sprintf("%019d\x1f%019d", e.SubjectID, e.SubjectVersion)
	}
	inserted, err := Table.Insert(ctx, tx, entries...)
	if err != nil {
		return err
	}
	for i, ok := range inserted {
		if !ok && entries[i].SubjectVersion != FirstVersion {
			return fmt.Errorf("audit: version %d of %s has an entry already", entries[i].SubjectVersion, entries[i].Subject)
		}
	}
	return nil
}

// rowPrefix begins the keys of a row's entries.
func rowPrefix(subject, subjectKey string) string { return subject + "\x1f" + subjectKey + "\x1f" }

// History returns the last entries of a row, at most limit, the oldest of them
// first.
func History(ctx context.Context, tx storage.Tx, scope storage.Scope, subject, subjectKey string, limit int) ([]*Entry, error) {
	prefix := rowPrefix(subject, subjectKey)
	last, err := Table.Find(ctx, tx, scope, storage.Query{
		Where: []storage.Cond{
			storage.Greater("key", prefix), storage.Less("key", prefix+":"), // ':' follows the digits
			storage.Eq("subject_key", subjectKey), // another key may go on where this one ends
		},
		OrderBy: "key", Desc: true, Limit: limit,
	})
	slices.Reverse(last)
	return last, err
}
