package outbox

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Unsubscribe ends what a subscriber is subscribed to, in all tenants, and deletes what it
// is still to get, or could not take: at most a thousand deliveries in one transaction. It
// says how many. The audit says who asked for it. A dry run only counts.
func Unsubscribe(ctx context.Context, tx storage.Tx, subscriber string, by audit.By, o *audit.Options) (int, error) {
	if err := by.Check(); err != nil {
		return 0, err
	}
	of := driver.Eq("kind", subscriber)
	left, err := deliveries.Everywhere().Find(ctx, tx, driver.Query{
		Where: []driver.Cond{of, driver.In("status", []string{StatusPending, StatusDeadLetter})}, OrderBy: "id", Limit: maxReplay,
	})
	if err != nil || audit.IsDry(o) {
		return len(left), err
	}
	known, err := subscriptions.Find(ctx, tx, "", driver.Query{Where: []driver.Cond{of}, OrderBy: "key", Limit: maxReplay})
	if err != nil {
		return 0, err
	}
	entry := func(table string, r *storage.Record) *audit.Entry {
		return &audit.Entry{
			Record: storage.Record{Scope: r.Scope}, Subject: table, SubjectKey: r.Key, SubjectID: r.ID, SubjectVersion: r.Version + 1,
			Action: "Unsubscribe", Actor: by.Actor, Reason: by.Reason, From: r.Status, On: driver.Now(tx.Store()),
		}
	}
	var entries []*audit.Entry
	for _, s := range known {
		entries = append(entries, entry(subscriptions.Name, &s.Record))
	}
	for _, d := range left {
		entries = append(entries, entry(deliveries.Name, &d.Record))
	}
	if err := subscriptions.Delete(ctx, tx, known...); err != nil {
		return 0, fmt.Errorf("outbox: unsubscribe: %w", err)
	}
	if err := deliveries.Delete(ctx, tx, left...); err != nil {
		return 0, fmt.Errorf("outbox: unsubscribe: %w", err)
	}
	return len(left), audit.Write(ctx, tx, entries...)
}
