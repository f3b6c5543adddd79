package automation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// One step of a walk looks at rows of so many ids, and takes at most so many of
// them.
const (
	retainSpan = 5000
	retainPage = 1000
)

// RetentionReport counts what a walk over all rows did.
type RetentionReport struct {
	// Deleted rows are gone. Rows that somebody wrote meanwhile are not among them.
	Deleted int
	// Remembered rows are old enough, but their key may still be asked for.
	Remembered int
	// Unarchived rows stay, since Archive failed for them.
	Unarchived int
}

// errBound refuses what needs transactions of its own.
var errBound = errors.New("not in a bound transaction")

// Retain deletes what the [Retention] of the types that are registered here
// allows, in small transactions. A Poller does it once a day, in one process;
// this is for whoever does not want to wait, and may run at any time beside it.
// The report tells what was done also where there is an error: that of an
// Archive, or one that ended the walk.
func (s *Scheduler) Retain(ctx context.Context) (sum RetentionReport, err error) {
	if s.tx != nil {
		return sum, fmt.Errorf("automation: Retain: %w", errBound)
	}
	var refused error
	for after := int64(0); ; {
		step, err := s.retain(ctx, after)
		if err == nil {
			err = s.store.InTx(ctx, func(tx storage.Tx) (err error) {
				step.report.Deleted, err = forget(ctx, tx, step.expired)
				return err
			})
		}
		if err != nil {
			return sum, fmt.Errorf("automation: Retain: %w", err)
		}
		sum = sum.add(step.report)
		refused = errors.Join(refused, step.refused)
		if after = step.next; after == 0 {
			return sum, refused
		}
	}
}

func (r RetentionReport) add(o RetentionReport) RetentionReport {
	return RetentionReport{r.Deleted + o.Deleted, r.Remembered + o.Remembered, r.Unarchived + o.Unarchived}
}

// retention is one step of a walk: what it found, and has archived.
type retention struct {
	next    int64 // the walk goes on behind this id; zero: it is over
	expired []*Schedule
	report  RetentionReport // but for what is deleted
	refused error           // by Archive
}

// retain looks at the next rows behind an id.
func (s *Scheduler) retain(ctx context.Context, after int64) (retention, error) {
	types := s.registry.keepings()
	if len(types) == 0 {
		return retention{}, nil
	}
	now := s.now()
	rows, next, err := s.retainPage(ctx, after, now, types)
	if err != nil {
		return retention{}, err
	}
	outrun, err := s.outrun(ctx, rows)
	if err != nil {
		return retention{}, err
	}
	step := retention{next: next}
	byType := map[string][]*Schedule{}
	for _, row := range rows {
		switch m := types[row.Type]; {
		case !m.old(row, now):
		case m.forgotten(row, now) || outrun[row.ID]:
			byType[row.Type] = append(byType[row.Type], row)
		default:
			step.report.Remembered++
		}
	}
	for name, rows := range byType {
		if err := archive(ctx, types[name].Archive, rows); err != nil {
			step.refused = errors.Join(step.refused, fmt.Errorf("automation: Archive of %s: %w", name, err))
			step.report.Unarchived += len(rows)
			continue
		}
		step.expired = append(step.expired, rows...)
	}
	return step, nil
}

// retainPage reads the ended rows of the next ids, and where to go on. The walk
// is along the primary key, in which rows are about as old as their ids, and
// ends at one that is too young: an index over ended rows would cost every
// settling more than this costs in a day.
func (s *Scheduler) retainPage(ctx context.Context, after int64, now time.Time, types map[string]keeping) (rows []*Schedule, next int64, err error) {
	var names []string
	oldest := time.Time{}
	for name, m := range types {
		names = append(names, name)
		if before := now.Add(-m.After); before.After(oldest) {
			oldest = before
		}
	}
	err = s.store.InTx(ctx, func(tx storage.Tx) error {
		rows, next = nil, 0
		first, err := schedules.Find(ctx, tx, storage.AnyScope, storage.Query{Where: []storage.Cond{storage.Greater("id", after)}, Limit: 1})
		if err != nil || len(first) == 0 || first[0].CreatedOn.After(oldest) {
			return err
		}
		next = first[0].ID + retainSpan - 1
		rows, err = schedules.Find(ctx, tx, storage.AnyScope, storage.Query{
			Where: []storage.Cond{
				storage.AtLeast("id", first[0].ID), storage.AtMost("id", next),
				storage.AtMost("ended_on", oldest), storage.Eq("is_on_support_hold", false), storage.In("type", names),
			},
			Limit: retainPage,
		})
		if len(rows) == retainPage {
			next = rows[len(rows)-1].ID
		}
		return err
	})
	return rows, next, err
}

// archive gives the host what will be deleted.
func archive(ctx context.Context, to func(context.Context, []Schedule) error, rows []*Schedule) error {
	if to == nil {
		return nil
	}
	values := make([]Schedule, len(rows))
	for i, row := range rows {
		values[i] = *row
	}
	return work.Guard(func() error { return to(ctx, values) })
}

// forget deletes rows, but for those that somebody wrote since they were read,
// and tells how many are gone.
func forget(ctx context.Context, tx storage.Tx, rows []*Schedule) (int, error) {
	err := schedules.Delete(ctx, tx, rows...)
	var stale *storage.StaleError
	if errors.As(err, &stale) {
		return len(rows) - len(stale.Rows), nil
	}
	return len(rows), err
}

// keepings are the types registered here whose rows are deleted some day.
func (r *registry) keepings() map[string]keeping {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := map[string]keeping{}
	for name, t := range r.reminders {
		if t.Retention.After > 0 {
			out[name] = keeping{t.Retention, max(t.CatchUp, defaultCatchUp), t.BusinessDay != nil}
		}
	}
	for name, h := range r.handlers {
		if w, ok := wrapped[retained](h); ok && w.retention.After > 0 {
			out[name] = keeping{Retention: w.retention, catchUp: defaultCatchUp}
		}
	}
	return out
}
