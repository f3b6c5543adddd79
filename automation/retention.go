package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/driver"
)

// minRetention keeps rows for as long as messages may be on their way, since
// those are checked against the row before they go out.
const minRetention = 24 * time.Hour

// Retention says when ended rows of a type are forgotten. Rows that are open or on support
// hold always stay. The audit of what support did, and the history by source
// (automation_job), have their own.
//
// A row is the memory that keeps its work from happening twice. It is deleted once its
// key can no longer be requested:
//
//   - a date-based one once its moment is further back than CatchUp under every
//     zone and time of day, and two weeks longer where there is a BusinessDay:
//     from then on a request is answered OffsetPassed
//   - a recurring one once its occurrence is further back than CatchUp, and two days
//   - a threshold under OncePerDay once its day is over, in every zone, for
//     longer than CatchUp
//   - one under FalseToTrue once its condition has risen once more
//   - any other threshold, and the types that hosts add, after ForgetAfter
//
// Until then a stub stays of what was sent or is over: its key, its state, and where its
// delivery is. A request for it gets the same answer, and nothing is sent. Of rows
// that ended unsent nothing has to stay where the key may be asked for for ever: made
// again, they are due for the first time.
//
// CatchUp counts as a day where it is shorter. One that is made longer later
// than rows were deleted asks for them again.
type Retention struct {
	// After is how long a row stays after its end, at least a day. Zero: as long as the
	// Poller's Retention.Reminders says.
	After time.Duration
	// ForgetAfter is how long after the end of a row its key may still be asked
	// for, where nothing else says so: for a threshold, whether it may fire once
	// more then. Zero: for ever, so that the stubs stay.
	ForgetAfter time.Duration
	// Archive is given the rows before they are forgotten, at most 1000 at once; nil:
	// they just are. After an error they stay for another day. It may be
	// called again for the same rows, and in any process.
	Archive func(ctx context.Context, rows []Schedule) error
}

func (r Retention) check() error {
	switch {
	case r.After < 0 || r.ForgetAfter < 0:
		return errors.New("a negative Retention")
	case r.After > 0 && r.After < minRetention:
		return errors.New("a Retention of less than a day")
	}
	return nil
}

// RetentionReport counts what a walk over all rows did.
type RetentionReport struct {
	// Deleted rows are gone. Rows that were written meanwhile are not among them.
	Deleted int
	// Tombstones are left of rows whose key may still be asked for.
	Tombstones int
	// Remembered rows are old enough and stay as they are, for the same reason: stubs
	// from before, and rows that ended unsent.
	Remembered int
	// Unarchived rows stay, since Archive failed for them.
	Unarchived int
}

// errBound refuses what needs transactions of its own.
var errBound = errors.New("not in a bound transaction")

// Retain forgets what the [Retention] of the types that are registered here
// allows, in small transactions, without announcing it. A Poller does it once a day, in
// one process; this is for a caller that does not want to wait, and may run at any time beside
// it. What the Poller's Retention says is not looked at.
// The report tells what was done also where there is an error: that of an
// Archive, or one that ended the walk.
func (s Maintenance) Retain(ctx context.Context) (RetentionReport, error) {
	if s.tx != nil {
		return RetentionReport{}, fmt.Errorf("automation: Retain: %w", errBound)
	}
	sum, err := s.keeper().forgetRows().Now(ctx, s.store, 0, false)
	report := RetentionReport{Deleted: sum.Deleted, Tombstones: sum.Emptied, Remembered: sum.Kept, Unarchived: sum.Unarchived}
	if err != nil {
		return report, fmt.Errorf("automation: Retain: %w", err)
	}
	return report, nil
}

// scheduleStubs are what is left of a row: what decides about a repeated wish and until
// when it may come, and the coordinates that are its answer.
var scheduleStubs = schedules.Tombstones("trigger_type", "trigger_key", "target_date", "days_before", "input_hash", "scheduled_on", "scheduled_local_date", "created_on", "ended_on", "reason_code", "dispatch_result")

// forgetRows says how rows go with their age.
func (s keeper) forgetRows() sweep.Rule {
	return sweep.Retention[scheduleRow]{
		Table: schedules, By: "Reminders", Tombstones: scheduleStubs,
		Created: func(r *scheduleRow) time.Time { return r.CreatedOn },
		After:   s.registry.shortest,
		Old: func(before time.Time) []driver.Cond {
			return []driver.Cond{driver.AtMost("ended_on", before), driver.Eq("is_on_support_hold", false), driver.In("kind", s.registry.types())}
		},
		Judge:   s.judge,
		Trim:    bareResult,
		Archive: s.archive,
	}.Rule()
}

// judge decides about rows by the retention of their types.
func (s keeper) judge(ctx context.Context, from driver.Reader, at sweep.At, rows []*scheduleRow) ([]sweep.Verdict, error) {
	outrun, err := outrun(ctx, from, rows)
	types, out := s.registry.keepings(at.Keep), make([]sweep.Verdict, len(rows))
	for i, r := range rows {
		out[i] = types[r.Kind].verdict(r, at.Now, outrun[r.ID])
	}
	return out, err
}

// verdict is what becomes of a row that ended.
func (m keeping) verdict(r *scheduleRow, now time.Time, outrun bool) sweep.Verdict {
	if !m.old(r, now) {
		return sweep.Wait
	}
	last, known := m.lastAsked(r)
	switch {
	case outrun || known && last.Before(now):
		return sweep.Delete
	case r.IsTombstone():
		return sweep.Keep
	case r.Status == StatusCompleted || r.isOver() || len(r.DispatchResult) > 0:
		return sweep.Empty
	case known: // it may be asked for, and revived
		return sweep.Keep
	}
	return sweep.Delete
}

// bareResult leaves of what was dispatched where it is.
func bareResult(r *scheduleRow) {
	d, err := r.Dispatched()
	if err != nil || len(r.DispatchResult) == 0 {
		r.DispatchResult = nil
		return
	}
	bare, _ := json.Marshal(notify.DispatchResult{ // texts marshal
		Path: d.Path, AutomationJob: d.AutomationJob, Notification: d.Notification, Scheduler: d.Scheduler,
		MessagingJob: d.MessagingJob, SkippedReason: d.SkippedReason, ConflictReason: d.ConflictReason,
	})
	r.DispatchResult = bare
}

// archive gives hosts what will be forgotten, by type. What was left of it before they
// have had.
func (s keeper) archive(ctx context.Context, rows []*scheduleRow) (stay map[*scheduleRow]bool, refused error) {
	types, byType := s.registry.keepings(0), map[string][]*scheduleRow{}
	for _, r := range rows {
		if types[r.Kind].Archive != nil && !r.IsTombstone() {
			byType[r.Kind] = append(byType[r.Kind], r)
		}
	}
	stay = map[*scheduleRow]bool{}
	for name, of := range byType {
		err := work.Guard(func() error { return types[name].Archive(ctx, views(of)) })
		if err == nil {
			continue
		}
		refused = errors.Join(refused, fmt.Errorf("automation: Archive of %s: %w", name, err))
		for _, r := range of {
			stay[r] = true
		}
	}
	return stay, refused
}

const (
	// anywhere is how long after the midnight, UTC, that begins a civil date it is
	// still that date somewhere, or a time of it is shifted to by a gap.
	anywhere = 72 * time.Hour
	// businessDays is how far a calendar may move a date from one day to the next.
	businessDays = 14 * 24 * time.Hour
)

// outrun tells which rows stand for a rise of their condition that is not the
// last one, by id: a request for one now is given the number of a later rise.
func outrun(ctx context.Context, from driver.Reader, rows []*scheduleRow) (map[int64]bool, error) {
	type rise struct {
		row *scheduleRow
		n   int64
	}
	rises := map[driver.ScopedKey][]rise{}
	for _, row := range rows {
		id, key, ok := conditionOf(row)
		if !ok || id.policy != threshold.FalseToTrue {
			continue
		}
		place := driver.ScopedKey{Scope: id.scope, Key: id.state}
		rises[place] = append(rises[place], rise{row, key.Firing().Rises})
	}
	if len(rises) == 0 {
		return nil, nil
	}
	states, err := thresholdStates.GetMany(ctx, from, slices.Collect(maps.Keys(rises)))
	out := map[int64]bool{}
	for place, state := range states {
		for _, r := range rises[place] {
			out[r.row.ID] = state.Rises > r.n
		}
	}
	return out, err
}
