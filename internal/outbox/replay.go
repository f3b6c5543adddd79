package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxReplay bounds one call of ReplayDead and of Deliveries.
const maxReplay = 1000

// DeadLetter is an event whose delivery to a subscriber was given up.
type DeadLetter struct {
	Event     string // which one: its id
	Attempts  int
	LastError string    // of the subscriber, at most 500 bytes
	On, Since time.Time // when it was given up, and when the event happened
}

// DeadLetters lists what was given up for a subscriber of a scope, the oldest
// first, and says where the next page begins; empty after the last.
func DeadLetters(ctx context.Context, from driver.Reader, scope storage.Scope, subscriber string, p storage.Page) ([]DeadLetter, string, error) {
	rows, next, err := dead(ctx, from, scope, subscriber, p)
	out := make([]DeadLetter, len(rows))
	for i, d := range rows {
		out[i] = DeadLetter{Event: d.EventKey, Attempts: d.Attempts, LastError: d.Diagnostics, On: d.DeadOn, Since: d.CreatedOn}
	}
	return out, next, err
}

func dead(ctx context.Context, from driver.Reader, scope storage.Scope, subscriber string, p storage.Page) ([]*deliveryRow, string, error) {
	return deliveries.Page(ctx, from, scope, p, driver.Query{
		Where: []driver.Cond{driver.NotNull("dead_on"), driver.Eq("kind", subscriber)}, OrderBy: "id",
	})
}

// Deliveries are those of one event.
func Deliveries(ctx context.Context, from driver.Reader, scope storage.Scope, eventKey string) ([]Delivery, error) {
	rows, err := deliveries.Find(ctx, from, scope, driver.Query{
		Where:   []driver.Cond{driver.Greater("key", eventKey+"\x1f"), driver.Less("key", eventKey+"\x20")},
		OrderBy: "key", Limit: maxReplay,
	})
	out := make([]Delivery, len(rows))
	for i, d := range rows {
		out[i] = d.view()
	}
	return out, err
}

// Replay makes one delivery due again, with its attempts counted from zero, and
// writes who asked for it and why. One that is under way, or waits anyway, is
// refused with an error that wraps audit.ErrActionRefused.
func Replay(ctx context.Context, tx storage.Tx, scope storage.Scope, key string, by audit.By) error {
	return audit.Change(ctx, tx, deliveries, scope, key, "Replay", by, func(d *deliveryRow, now time.Time) string {
		if d.Status != StatusDeadLetter && d.Status != StatusDispatched {
			return "it is " + d.Status
		}
		d.replayed(now)
		return ""
	})
}

// ReplayDead makes the dead letters of a subscriber due again, at most a thousand
// of them in one transaction, and says how many. A dry run only counts.
func ReplayDead(ctx context.Context, tx storage.Tx, scope storage.Scope, subscriber string, by audit.By, o *audit.Options) (int, error) {
	if err := by.Check(); err != nil {
		return 0, err
	}
	dead, _, err := dead(ctx, tx, scope, subscriber, storage.Page{Limit: maxReplay})
	if err != nil || audit.IsDry(o) || len(dead) == 0 {
		return len(dead), err
	}
	now := driver.Now(tx.Store())
	for _, d := range dead {
		d.replayed(now)
	}
	// Only a replay writes a dead letter.
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

// eventsWith are those of a scope that have one of the keys.
func eventsWith(ctx context.Context, from driver.Reader, scope storage.Scope, keys ...string) ([]*eventRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return events.Find(ctx, from, scope, driver.Query{Where: []driver.Cond{driver.In("key", keys)}, OrderBy: "key", Limit: len(keys)})
}

// Readdress has events delivered to a subscriber that they were not addressed to,
// such as one that came later, and writes who asked for it and why. It says how
// many there were; events that have a delivery to it are passed over. A dry run
// only counts.
func Readdress(ctx context.Context, tx storage.Tx, scope storage.Scope, subscriber string, eventKeys []string, by audit.By, dryRun bool) (int, error) {
	if err := by.Check(); err != nil {
		return 0, err
	}
	missing, err := unaddressed(ctx, tx, scope, subscriber, eventKeys)
	if err != nil || dryRun || len(missing) == 0 {
		return len(missing), err
	}
	now := driver.Now(tx.Store())
	for _, d := range missing {
		d.DueOn = now
	}
	isNew, err := deliveries.Insert(ctx, tx, missing...)
	if err != nil {
		return 0, err
	}
	var entries []*audit.Entry
	for i, d := range missing {
		if isNew[i] {
			entries = append(entries, &audit.Entry{
				Record: storage.Record{Scope: scope}, Subject: deliveries.Name, SubjectKey: d.Key, SubjectID: d.ID, SubjectVersion: audit.FirstVersion,
				Action: "Replay", Actor: by.Actor, Reason: by.Reason, To: d.Status, On: now,
			})
		}
	}
	return len(entries), audit.Write(ctx, tx, entries...)
}

// unaddressed are the deliveries that a subscriber lacks.
func unaddressed(ctx context.Context, from driver.Reader, scope storage.Scope, subscriber string, eventKeys []string) ([]*deliveryRow, error) {
	found, err := eventsWith(ctx, from, scope, eventKeys...)
	if err != nil {
		return nil, err
	}
	var want []*deliveryRow
	for _, e := range found {
		if want, err = addressed(want, e, time.Time{}, []string{subscriber}); err != nil {
			return nil, err
		}
	}
	known := make([]string, len(want))
	for i, d := range want {
		known[i] = d.Key
	}
	if len(want) == 0 {
		return nil, nil
	}
	have, err := deliveries.Find(ctx, from, scope, driver.Query{Columns: []string{"status"}, Where: []driver.Cond{driver.In("key", known)}, Limit: len(known)})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, d := range have {
		there[d.Key] = true
	}
	var missing []*deliveryRow
	for _, d := range want {
		if !there[d.Key] {
			missing = append(missing, d)
		}
	}
	return missing, nil
}

// maxErased is more than an event can have deliveries.
const maxErased = 10_000

// Erase deletes an event with its deliveries, whatever became of them, since what it
// carries may not be kept any longer, and what people wrote when they replayed them. A
// subscriber that has it at this moment finishes. An unknown event is none to erase.
func Erase(ctx context.Context, tx storage.Tx, scope storage.Scope, eventKey string) error {
	prefix, err := keys.Join(eventKey)
	if err != nil {
		return err
	}
	sent, err := deliveries.Find(ctx, tx, scope, driver.Query{
		Where: []driver.Cond{driver.Greater("key", prefix+"\x1f"), driver.Less("key", prefix+"\x20")}, Limit: maxErased,
	})
	if err != nil {
		return err
	}
	if err := deliveries.Delete(ctx, tx, sent...); err != nil {
		return err
	}
	if err := forgetReplays(ctx, tx, scope, sent); err != nil {
		return err
	}
	found, err := events.Find(ctx, tx, scope, driver.Query{Where: []driver.Cond{driver.Eq("key", eventKey)}, Limit: 1})
	if err != nil {
		return err
	}
	return events.Delete(ctx, tx, found...)
}

// forgetReplays takes what people wrote when they replayed deliveries out of the audit.
func forgetReplays(ctx context.Context, tx storage.Tx, scope storage.Scope, sent []*deliveryRow) error {
	of := make([]string, len(sent))
	for i, d := range sent {
		of[i] = d.Key
	}
	return audit.ForgetAll(ctx, tx, scope, deliveries.Name, of...)
}
