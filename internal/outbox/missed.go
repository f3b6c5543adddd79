package outbox

import (
	"context"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// Events are those of a scope that have one of the keys.
func Events(ctx context.Context, tx storage.Tx, scope storage.Scope, keys ...string) ([]*Event, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return events.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, OrderBy: "key", Limit: len(keys)})
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
	now := storage.Now(tx.Store())
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
func unaddressed(ctx context.Context, tx storage.Tx, scope storage.Scope, subscriber string, eventKeys []string) ([]*Delivery, error) {
	found, err := Events(ctx, tx, scope, eventKeys...)
	if err != nil {
		return nil, err
	}
	var want []*Delivery
	for _, e := range found {
		if want, err = addressed(want, e, []string{subscriber}); err != nil {
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
	have, err := deliveries.Find(ctx, tx, scope, storage.Query{Columns: []string{"status"}, Where: []storage.Cond{storage.In("key", known)}, Limit: len(known)})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, d := range have {
		there[d.Key] = true
	}
	var missing []*Delivery
	for _, d := range want {
		if !there[d.Key] {
			missing = append(missing, d)
		}
	}
	return missing, nil
}
