package notify

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ConflictError says that an artifact exists under the key but stands for
// something else: an immutable field differs. The stored artifact is as it
// was, nothing is sent for the wanted one, and the transaction stays usable
// (Communication - System architecture, "Ensure contracts").
type ConflictError struct {
	Artifact Artifact
	Scope    Scope
	Coordinates
	// Field is the first immutable field that differs, such as "InputHash"; of a job whose
	// EventData says what it stands for the member, such as "EventData.order.total".
	Field string
	// Stored and Wanted are both sides: hashes, codes, ids and short numbers, never an
	// address or text.
	Stored, Wanted string
}

func (e *ConflictError) Error() string {
	if member, ok := strings.CutPrefix(e.Field, eventData); ok {
		what := eventData + " differs"
		if member = strings.TrimPrefix(member, "."); member != "" {
			what += ": " + member
		}
		if len(e.Stored) < hashLen && len(e.Wanted) < hashLen {
			what += ": " + e.Stored + " -> " + e.Wanted
		}
		return fmt.Sprintf("notify: %s %s / %s: %s; what is stored stays", e.Artifact, e.PartitionKey, e.RowKey, what)
	}
	return fmt.Sprintf("notify: %s %s / %s: %s is %q, wanted %q", e.Artifact, e.PartitionKey, e.RowKey, e.Field, e.Stored, e.Wanted)
}

// Conflict is a [ConflictError] as support finds it: once, however often the same wish
// was repeated.
type Conflict struct {
	ConflictError
	On time.Time // the first time
}

// Conflicts lists the conflicts of a scope in no promised order, and says where the next
// page begins; empty after the last.
func (n Support) Conflicts(ctx context.Context, scope Scope, p storage.Page) ([]Conflict, string, error) {
	return list(ctx, n.core, conflicts, scope, p, nil, (*conflict).view)
}

func (c *conflict) view() Conflict {
	return Conflict{ConflictError{
		Artifact: c.Artifact, Scope: c.Scope, Coordinates: Coordinates{c.PartitionKey, c.RowKey},
		Field: c.Field, Stored: c.Stored, Wanted: c.Wanted,
	}, c.CreatedOn}
}

// conflict records one mismatch for support: once, however often the same wish
// is repeated.
type conflict struct {
	storage.Record
	Artifact     Artifact  `db:"artifact,fixed,plain"`
	PartitionKey string    `db:"partition_key,fixed,person"`
	RowKey       string    `db:"row_key,fixed,person"`
	Field        string    `db:"field,fixed,plain"`
	Stored       string    `db:"stored,fixed,content"`
	Wanted       string    `db:"wanted,fixed,content"`
	CreatedOn    time.Time `db:"created_on,fixed"`
}

var conflicts = driver.Define[conflict]("notification_conflict").Grows(driver.WithWork).
	Kept("Retention.Messages", "what was asked for under a key that stands for something else")

// recordConflicts stores the conflicts among the answers, in their transaction.
func recordConflicts(ctx context.Context, tx storage.Tx, all []Ensured) error {
	var rows []*conflict
	for _, e := range all {
		if e.Conflict != nil {
			rows = append(rows, newConflict(driver.Now(tx.Store()), e))
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

// disputedFor is how long a message waits before its campaign is looked at again.
const disputedFor = time.Hour

// ofCampaign is false only for a message that is none's: those of campaigns are never
// in the normal lane.
func ofCampaign(m *messageRow) bool {
	return m.JobPartitionKey == "" && m.Lane != storage.LaneNormal
}

// undisputed has messages wait whose campaign is on hold for a conflict.
func (n sender) undisputed(ctx context.Context, items []sending) ([]sending, error) {
	var places []driver.ScopedKey
	for _, it := range items {
		if at := it.Row.job(); ofCampaign(it.Row) && !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		return items, nil
	}
	var found map[driver.ScopedKey]*messagingJobRow
	err := n.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = messagingJobs.GetMany(ctx, from, places, "hold_reason")
		return err
	})
	if err != nil {
		return nil, err
	}
	var open []sending
	for _, it := range items {
		if j := found[it.Row.job()]; j != nil && j.HoldReason == reasons.Conflict {
			it.Row.deferTo(driver.Now(n.store).Add(disputedFor), reasons.Conflict)
		} else {
			open = append(open, it)
		}
	}
	return open, nil
}

// stopConflicts puts jobs with a conflict on hold, and with them the messages
// that this transaction has just created for them: nothing of such a job goes
// out until a person has looked.
func (b *batch) stopConflicts(ctx context.Context, tx storage.Tx, all []Ensured, stored []*messageRow) error {
	stopped := map[*jobRow]bool{}
	var held []*jobRow
	for i, j := range append(b.usersOf, b.outgoingOf...) {
		if all[i].Conflict != nil && !stopped[j] {
			stopped[j], held = true, append(held, j)
			j.conflicted()
		}
	}
	if len(held) == 0 {
		return nil
	}
	if err := jobs.Save(ctx, tx, held...); err != nil {
		return err
	}
	var messages []*messageRow
	for i, j := range b.outgoingOf {
		if stopped[j] && all[len(b.users)+i].Outcome == storage.Created {
			stopForConflict(stored[i])
			messages = append(messages, stored[i])
		}
	}
	return outgoingMessages.Save(ctx, tx, messages...)
}

// stopForConflict stops a message of a job whose messages stand for something else.
func stopForConflict(m *messageRow) {
	m.ReasonCode = reasons.Conflict
	m.putOnHold(reasons.Conflict)
}
