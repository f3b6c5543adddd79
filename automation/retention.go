package automation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/hush"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// minRetention keeps rows for as long as messages may be on their way, since
// those are checked against the row before they go out.
const minRetention = 24 * time.Hour

// Retention says when ended rows of a type are deleted. The zero value keeps
// them for ever. Rows that are open or on support hold always stay, and so does
// the audit of what support did, and the history by source (automation_job).
//
// A row is the memory that keeps its work from happening twice, so it also stays
// for as long as somebody could ask for its key again:
//
//   - a date-based one until its moment is further back than CatchUp under every
//     zone and time of day, and two weeks longer where there is a BusinessDay:
//     from then on whoever asks is told OffsetPassed
//   - a recurring one until its occurrence is further back than CatchUp
//   - a threshold under OncePerDay until its day is over, in every zone, for
//     longer than CatchUp
//   - one under FalseToTrue until its condition has risen once more
//   - any other threshold, and the types that hosts add, for ForgetAfter
//
// CatchUp counts as a day where it is shorter. One that is made longer later
// than rows were deleted asks for them again.
//
//spec:a-117
type Retention struct {
	// After is how long a row stays after its end, at least a day. Zero: for ever.
	After time.Duration
	// ForgetAfter is how long after the end of a row its key may still be asked
	// for, where nothing else says so: for a threshold, whether it may fire once
	// more then. Zero: for ever, so that the rows stay.
	ForgetAfter time.Duration
	// Archive is given the rows before they are deleted, at most 1000 at once; nil:
	// they are just deleted. After an error they stay for another day. It may be
	// called again for the same rows, and in any process.
	Archive func(ctx context.Context, rows []Schedule) error
}

func (r Retention) check() error {
	switch {
	case r.After < 0 || r.ForgetAfter < 0:
		return errors.New("a negative Retention")
	case r.After == 0 && (r.ForgetAfter > 0 || r.Archive != nil):
		return errors.New("a Retention without After")
	case r.After > 0 && r.After < minRetention:
		return errors.New("a Retention of less than a day")
	}
	return nil
}

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
//
//spec:a-117
func (s Upkeep) Retain(ctx context.Context) (sum RetentionReport, err error) {
	if s.tx != nil {
		return sum, fmt.Errorf("automation: Retain: %w", errBound)
	}
	var refused error
	for after := int64(0); ; {
		step, err := s.keeper().retain(ctx, after)
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
	expired []*scheduleRow
	report  RetentionReport // but for what is deleted
	refused error           // by Archive
}

// retain looks at the next rows behind an id.
func (s keeper) retain(ctx context.Context, after int64) (retention, error) {
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
	byType := map[string][]*scheduleRow{}
	for _, row := range rows {
		switch m := types[row.Kind]; {
		case !m.old(row, now):
		case m.forgotten(row, now) || outrun[row.ID]:
			byType[row.Kind] = append(byType[row.Kind], row)
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
func (s keeper) retainPage(ctx context.Context, after int64, now time.Time, types map[string]keeping) (rows []*scheduleRow, next int64, err error) {
	var names []string
	oldest := time.Time{}
	for name, m := range types {
		names = append(names, name)
		if before := now.Add(-m.After); before.After(oldest) {
			oldest = before
		}
	}
	err = s.store.View(ctx, func(from driver.Reader) error {
		rows, next = nil, 0
		first, err := schedules.Everywhere().Find(ctx, from, driver.Query{Where: []driver.Cond{driver.Greater("id", after)}, Limit: 1})
		if err != nil || len(first) == 0 || first[0].CreatedOn.After(oldest) {
			return err
		}
		next = first[0].ID + retainSpan - 1
		rows, err = schedules.Everywhere().Find(ctx, from, driver.Query{
			Where: []driver.Cond{
				driver.AtLeast("id", first[0].ID), driver.AtMost("id", next),
				driver.AtMost("ended_on", oldest), driver.Eq("is_on_support_hold", false), driver.In("kind", names),
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
func archive(ctx context.Context, to func(context.Context, []Schedule) error, rows []*scheduleRow) error {
	if to == nil {
		return nil
	}
	return work.Guard(func() error { return to(ctx, views(rows)) })
}

// forget deletes rows, but for those that somebody wrote since they were read,
// and tells how many are gone.
func forget(ctx context.Context, tx storage.Tx, rows []*scheduleRow) (int, error) {
	err := schedules.Delete(ctx, tx, rows...)
	var stale *storage.StaleError
	if errors.As(err, &stale) {
		return len(rows) - len(stale.Rows), nil
	}
	return len(rows), err
}

const (
	// anywhere is how long after the midnight, UTC, that begins a civil date it is
	// still that date somewhere, or a time of it is shifted to by a gap.
	anywhere = 72 * time.Hour
	// businessDays is how far a calendar may move a date from one day to the next.
	businessDays = 14 * 24 * time.Hour
)

// outrun tells which rows stand for a rise of their condition that is not the
// last one, by id: whoever asks for one now is given the number of a later rise.
func (s keeper) outrun(ctx context.Context, rows []*scheduleRow) (map[int64]bool, error) {
	type rise struct {
		row *scheduleRow
		n   int64
	}
	rises := map[driver.Place][]rise{}
	for _, row := range rows {
		id, key, ok := conditionOf(row)
		if !ok || id.policy != FalseToTrue {
			continue
		}
		place := driver.Place{Scope: id.scope, Key: id.state}
		rises[place] = append(rises[place], rise{row, key.Firing().Rises})
	}
	if len(rises) == 0 {
		return nil, nil
	}
	out := map[int64]bool{}
	err := s.store.View(ctx, func(from driver.Reader) error {
		states, err := thresholdStates.GetMany(ctx, from, slices.Collect(maps.Keys(rises)))
		for place, state := range states {
			for _, r := range rises[place] {
				out[r.row.ID] = state.Rises > r.n
			}
		}
		return err
	})
	return out, err
}

// How often all rows are walked, how soon a step that failed is tried again, and
// how often a Poller looks whether either is due.
const (
	retainEvery = 24 * time.Hour
	retainAgain = 15 * time.Minute
	retainLook  = time.Minute
)

// anyLane is a batch of which every lane has a share, for a table of one row.
const anyLane = 100

// walk is the only row of automation_retention: where the walk over all rows is.
// Its lease says which process walks, and its due moment when to go on.
type walk struct {
	storage.Record
	After int64 `db:"after_id"` // it goes on behind this id
}

var walks = driver.Define[walk]("automation_retention").Grows(driver.Bounded).Limit(maxRow)

// walking is the status of a walk; whether one is under way, the lease says.
const walking = "Ready"

// retentionPass deletes old rows. Without a type that has a Retention it does
// nothing and asks for nothing.
type retentionPass struct {
	work.Pass
	s *core
}

func (s keeper) retentionPass() work.Pass {
	return retentionPass{s: s.core, Pass: work.New(s.store, work.Spec[walk, retention]{
		Name: "automation.retention", Table: walks, Claimable: []string{walking},
		Limit:  func(string) time.Duration { return longCallTimeout },
		Handle: s.walkOn, Dispatch: s.dispatchRetention,
		Fail:    func(now time.Time, w *walk, _ error) { w.DueOn = now.Add(retainAgain) },
		Abandon: func(now time.Time, w *walk) { w.DueOn = now },
		Release: func(now time.Time, w *walk) { w.DueOn = now },
	})}
}

// walkOn takes the next step. What it found is deleted in the transaction that
// notes how far it came.
func (s keeper) walkOn(ctx context.Context, items []work.Item[walk]) ([]retention, error) {
	w := items[0].Row
	step, err := s.retain(ctx, w.After)
	if err != nil {
		return nil, err
	}
	if step.refused != nil {
		hush.Warn(ctx, s.opts.Logger, "belfry: old rows could not be archived, so they stay", "rows", step.report.Unarchived, "error", step.refused)
	}
	w.After, w.DueOn = step.next, s.now()
	if step.next == 0 {
		w.DueOn = s.now().Add(retainEvery)
	}
	return []retention{step}, nil
}

func (s keeper) dispatchRetention(ctx context.Context, tx storage.Tx, done []work.Done[walk, retention]) error {
	_, err := forget(ctx, tx, done[0].Result.expired)
	return err
}

func (p retentionPass) Runner(o work.Options) work.Runner {
	return &retentionRunner{Runner: p.Pass.Runner(o), s: p.s}
}

type retentionRunner struct {
	work.Runner
	s    *core
	made atomic.Bool // the row of the walk exists
}

// Poll takes one step if one is due.
func (r *retentionRunner) Poll(ctx context.Context, _ int) (work.Report, error) {
	if len(r.s.registry.keepings()) == 0 {
		return work.Report{}, nil
	}
	if err := r.makeWalk(ctx); err != nil {
		return work.Report{}, err
	}
	return r.Runner.Poll(ctx, anyLane)
}

// Run looks once a minute and then goes on for as long as there is something to
// do.
func (r *retentionRunner) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.s.store.Clock().After(retainLook):
		}
		for {
			report, err := r.Poll(ctx, anyLane)
			if err != nil && ctx.Err() == nil {
				hush.Warn(ctx, r.s.opts.Logger, "belfry: poll failed", "pass", "automation.retention", "error", err)
			}
			if report.Claimed == 0 || ctx.Err() != nil {
				break
			}
		}
	}
}

// Pulse is none: a chore of once a day says nothing about the poller.
func (r *retentionRunner) Pulse() []work.Pulse { return nil }

// makeWalk makes the row that walks need.
func (r *retentionRunner) makeWalk(ctx context.Context) error {
	if r.made.Load() {
		return nil
	}
	err := r.s.store.InTx(ctx, func(tx storage.Tx) error {
		_, err := walks.Insert(ctx, tx, &walk{Record: storage.Record{Key: "walk", Status: walking, DueOn: r.s.now()}})
		return err
	})
	r.made.Store(err == nil)
	return err
}
