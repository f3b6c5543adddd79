package automation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// deactivatePage is how many open rows are looked at in one statement.
const deactivatePage = 500

// Deactivation is a row that an event ended.
type Deactivation struct {
	Key    string
	Reason Reason
}

// open is the predicate of the index over the open rows of a source.
func open() storage.Cond {
	return storage.Any(storage.NotNull("due_on"), storage.Eq("is_on_support_hold", true))
}

// deactivate ends the rows among the open ones that where describes for which
// why gives a reason. A row that a worker has is ended under it, and what the
// worker decides is dropped.
func (s *Scheduler) deactivate(ctx context.Context, tx storage.Tx, e Event, where []storage.Cond, why func(*Schedule) (Reason, bool)) ([]Deactivation, error) {
	now := s.now()
	var out []Deactivation
	var after *storage.Position
	for {
		rows, err := schedules.Find(ctx, tx, e.Scope, storage.Query{Where: append(where, open()), Limit: deactivatePage, After: after})
		if err != nil || len(rows) == 0 {
			return out, err
		}
		after = &storage.Position{ID: rows[len(rows)-1].ID}
		ended, err := endRows(ctx, tx, now, e, rows, why)
		if err != nil {
			return nil, err
		}
		out = append(out, ended...)
	}
}

// endRows saves the rows that end. One that a claim took meanwhile is loaded
// again, since a claim does not keep it.
func endRows(ctx context.Context, tx storage.Tx, now time.Time, e Event, rows []*Schedule, why func(*Schedule) (Reason, bool)) ([]Deactivation, error) {
	var out []Deactivation
	for range 5 {
		var save []*Schedule
		for _, row := range rows {
			reason, ends := why(row)
			if !ends || !machine.Legal(row.Status, StatusDeactivated) || row.Status == StatusDeactivated {
				continue
			}
			row.EventType, row.EventID = e.Type, e.ID
			row.deactivate(now, reason)
			save = append(save, row)
		}
		err := schedules.Save(ctx, tx, save...)
		var stale *storage.StaleError
		if err != nil && !errors.As(err, &stale) {
			return nil, err
		}
		lost := map[int]bool{}
		var ids []int64
		if stale != nil {
			for _, i := range stale.Rows {
				lost[i] = true
				ids = append(ids, save[i].ID)
			}
		}
		for i, row := range save {
			if !lost[i] {
				out = append(out, Deactivation{row.Key, row.ReasonCode})
			}
		}
		if len(ids) == 0 {
			return out, nil
		}
		if rows, err = schedules.Find(ctx, tx, e.Scope, storage.Query{Where: []storage.Cond{storage.In("id", ids), open()}, Limit: len(ids)}); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("automation: rows kept changing while an event ended them: %w", storage.ErrBusy)
}
