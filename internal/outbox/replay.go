package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// maxReplay bounds one call of Replay and of DeadLetters.
const maxReplay = 1000

// DeadLetters lists what was given up for a subscriber of a scope, the oldest
// first. after is the ID of the last row of the page before.
func DeadLetters(ctx context.Context, tx storage.Tx, scope storage.Scope, subscriber string, after int64, limit int) ([]*Delivery, error) {
	if limit <= 0 || limit > maxReplay {
		limit = maxReplay
	}
	q := storage.Query{Where: []storage.Cond{storage.NotNull("dead_on"), storage.Eq("type", subscriber)}, Limit: limit}
	if after != 0 {
		q.After = &storage.Position{ID: after}
	}
	return deliveries.Find(ctx, tx, scope, q)
}

// Deliveries are those of one event.
func Deliveries(ctx context.Context, tx storage.Tx, scope storage.Scope, eventKey string) ([]*Delivery, error) {
	return deliveries.Find(ctx, tx, scope, storage.Query{
		Where:   []storage.Cond{storage.Greater("key", eventKey+"\x1f"), storage.Less("key", eventKey+"\x20")},
		OrderBy: "key", Limit: maxReplay,
	})
}

// Replay makes one delivery due again, with its attempts counted from zero, and
// writes who asked for it and why. One that is under way, or waits anyway, is
// refused with an error that wraps audit.ErrRefused.
func Replay(ctx context.Context, tx storage.Tx, scope storage.Scope, key string, by audit.By) error {
	return audit.Change(ctx, tx, deliveries, scope, key, "Replay", by, func(d *Delivery, now time.Time) string {
		if d.Status != StatusDeadLetter && d.Status != StatusDispatched {
			return "it is " + d.Status
		}
		d.replayed(now)
		return ""
	})
}

// ReplayDead makes the dead letters of a subscriber due again, at most limit of
// them in one transaction, and says how many. A dry run only counts.
func ReplayDead(ctx context.Context, tx storage.Tx, scope storage.Scope, subscriber string, limit int, by audit.By, dryRun bool) (int, error) {
	if err := by.Check(); err != nil {
		return 0, err
	}
	dead, err := DeadLetters(ctx, tx, scope, subscriber, 0, limit)
	if err != nil || dryRun || len(dead) == 0 {
		return len(dead), err
	}
	now := storage.Now(tx.Store())
	for _, d := range dead {
		d.replayed(now)
	}
	// A dead letter is written by nobody but who replays it.
	if err := deliveries.Save(ctx, tx, dead...); err != nil {
		return 0, fmt.Errorf("outbox: replay: %w", err)
	}
	entries := make([]*audit.Entry, len(dead))
	for i, d := range dead {
		entries[i] = &audit.Entry{
			Record: storage.Record{Scope: d.Scope}, Subject: deliveries.Name, SubjectKey: d.Key, SubjectID: d.ID, SubjectVersion: d.Version,
			Action: "Replay", Actor: by.Actor, Reason: by.Reason, From: StatusDeadLetter, To: d.Status, On: now,
		}
	}
	return len(dead), audit.Write(ctx, tx, entries...)
}
