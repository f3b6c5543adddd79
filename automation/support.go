package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ErrActionRefused says that a support action makes no sense for a row as it is
// now; the text says why. Nothing was written.
var ErrActionRefused = audit.ErrActionRefused

// Hold keeps a row from being due until it is released. Completed rows are
// refused, and rows that are on hold already. What a worker decides about it at
// this moment is dropped.
//
// Like Release, Retry and Cancel it writes who did it and why into the audit, in
// the same transaction, and returns storage.ErrNotFound where scope has no such
// key.
//
//spec:a-111
func (s Support) Hold(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionHold, by)
}

// Release ends a hold. A row that is Failed or Cancelled becomes Pending with
// its tries counted from zero, any other stays what it is.
//
//spec:a-111
func (s Support) Release(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionRelease, by)
}

// Retry makes a row that failed, was ended or waits for its next try due at
// once, with its tries counted from zero, and ends a hold. It is validated again
// like any other row.
func (s Support) Retry(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionRetry, by)
}

// Cancel stops a row for good: it is Cancelled and on hold, so that no Ensure
// revives it, only Release or Retry. What a worker decides about it at this
// moment is dropped. Completed and Cancelled rows are refused.
func (s Support) Cancel(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionCancel, by)
}

// supportActions change a row as support wants it, or return why they refuse.
var supportActions = map[Action]func(r *scheduleRow, now time.Time, by By) (refused string){
	ActionHold:    (*scheduleRow).supportHold,
	ActionRelease: (*scheduleRow).supportRelease,
	ActionRetry:   (*scheduleRow).supportRetry,
	ActionCancel:  (*scheduleRow).supportCancel,
}

func (r *scheduleRow) supportHold(now time.Time, by By) string {
	switch {
	case r.Status == StatusCompleted:
		return "it is Completed"
	case r.IsOnSupportHold:
		return "it is on hold already"
	case r.Status == StatusProcessing:
		r.giveBack(now)
	}
	r.hold(HeldBySupport, by.Reason)
	return ""
}

func (r *scheduleRow) supportRelease(now time.Time, _ By) string {
	if !r.IsOnSupportHold {
		return "it is not on hold"
	}
	r.unhold(now)
	return ""
}

func (r *scheduleRow) supportRetry(now time.Time, _ By) string {
	switch {
	case r.Status == StatusCompleted || r.Status == StatusProcessing:
		return "it is " + r.Status
	case r.Status == StatusPending && r.NextRetryOn.IsZero() && !r.IsOnSupportHold:
		return "it waits for its moment, not for a retry"
	}
	r.RetryCount = 0
	r.reactivate(now)
	r.unhold(now)
	return ""
}

func (r *scheduleRow) supportCancel(now time.Time, by By) string {
	if r.Status == StatusCompleted || r.Status == StatusCancelled {
		return "it is " + r.Status
	}
	r.to(now, StatusCancelled)
	r.ReasonCode = CancelledBySupport
	r.IsOnSupportHold = false
	r.hold(CancelledBySupport, by.Reason)
	return ""
}

// act changes one row and writes the audit beside it.
func (s Support) act(ctx context.Context, scope Scope, key string, action Action, by By) error {
	if err := by.Check(); err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	err := s.inTx(ctx, func(tx storage.Tx) error {
		row, err := schedules.Get(ctx, tx, scope, key)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", action, key, err)
		}
		acted, err := s.actOn(ctx, tx, []*scheduleRow{row}, acting{action, by, false})
		switch {
		case err != nil:
			return err
		case acted[0].Refused == keepsChanging:
			return fmt.Errorf("%s of %s: %s: %w", action, key, keepsChanging, storage.ErrBusy)
		case acted[0].Refused != "":
			return fmt.Errorf("%w: %s of %s: %s", ErrActionRefused, action, key, acted[0].Refused)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	return nil
}

// Action is what was done to a row, as its history tells it.
type Action string

// What support does; the first four can be done in bulk.
const (
	ActionHold    Action = "Hold"
	ActionRelease Action = "Release"
	ActionRetry   Action = "Retry"
	ActionCancel  Action = "Cancel"
	ActionRerun   Action = "Rerun"
)

// What programs do.
const (
	ActionCreated     Action = "Created"
	ActionCompleted   Action = "Completed"   // delivery work is queued
	ActionUpdated     Action = "Updated"     // it was asked for again, at another moment or for another type
	ActionReactivated Action = "Reactivated" // it was asked for again after it had ended
	ActionDeactivated Action = "Deactivated" // no longer wanted, by an event or at its moment
	ActionHeld        Action = "Held"        // on hold for a conflict
	ActionTryFailed   Action = "TryFailed"   // the last one puts the row on hold
	ActionLeaseLost   Action = "LeaseLost"   // a worker died or stalled, which counts as a try
)

// acting is what support wants done.
type acting struct {
	action Action
	by     By
	dryRun bool
}

// Acted is what a support action did to one row, or would do.
type Acted struct {
	Key      string
	From, To string // the statuses before and after
	// Refused says why nothing was done; empty: it was.
	Refused string
}

// keepsChanging refuses a row that others wrote whenever it was to be saved.
const keepsChanging = "it keeps changing"

// actOn acts on rows of one scope, in few statements for any number of them, and
// answers in their order. A row that somebody wrote since it was read (a claim
// does) is read and decided about again; lease and token stay the worker's.
func (s Support) actOn(ctx context.Context, tx storage.Tx, rows []*scheduleRow, a acting) ([]Acted, error) {
	out := make([]Acted, len(rows))
	places := map[int64]int{}
	for i, row := range rows {
		places[row.ID] = i
		out[i] = Acted{Key: row.Key, Refused: keepsChanging} // until it is decided
	}
	for tries := 0; tries < 5 && len(rows) > 0; tries++ {
		notes := a.decide(rows, s.core, func(row *scheduleRow) *Acted { return &out[places[row.ID]] })
		if a.dryRun {
			break
		}
		stale, err := a.save(ctx, tx, notes)
		if err == nil {
			err = s.recurrer().followActed(ctx, tx, notes, stale)
		}
		if err != nil {
			return nil, err
		}
		for _, id := range stale {
			out[places[id]].Refused = keepsChanging
		}
		if rows, err = again(ctx, tx, rows, stale); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decide changes rows, answers for each, and returns what has to be saved.
func (a acting) decide(rows []*scheduleRow, s *core, answer func(*scheduleRow) *Acted) []note {
	now, change := s.now(), supportActions[a.action]
	var notes []note
	for _, row := range rows {
		was := row.past()
		refused := change(row, now, a.by)
		*answer(row) = Acted{Key: row.Key, From: was.status, To: row.Status, Refused: refused}
		if refused == "" {
			notes = append(notes, note{row, was, a.action, a.by.Reason})
		}
	}
	return notes
}

// save writes what was decided with its audit, and returns the ids of the rows
// that somebody else wrote meanwhile.
func (a acting) save(ctx context.Context, tx storage.Tx, notes []note) ([]int64, error) {
	rows := make([]*scheduleRow, len(notes))
	for i, l := range notes {
		rows[i] = l.row
	}
	err := schedules.Save(ctx, tx, rows...)
	var stale *storage.StaleError
	if err != nil && !errors.As(err, &stale) {
		return nil, err
	}
	lost := map[int]bool{}
	var ids []int64
	if stale != nil {
		for _, i := range stale.Rows {
			lost[i] = true
			ids = append(ids, rows[i].ID)
		}
	}
	var done []note
	for i, l := range notes {
		if !lost[i] {
			done = append(done, l)
		}
	}
	return ids, tell(ctx, tx, a.by.Actor, done)
}

// again reads rows by their ids.
func again(ctx context.Context, tx storage.Tx, rows []*scheduleRow, ids []int64) ([]*scheduleRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return schedules.Find(ctx, tx, rows[0].Scope, driver.Query{Where: []driver.Cond{driver.In("id", ids)}, Limit: len(ids)})
}

// BulkReport is what a support action did to a page of rows, or would do.
type BulkReport struct {
	DryRun bool
	// Rows has every row that the selection found, in a fixed order,
	// those that were refused too.
	Rows             []Acted
	Changed, Refused int
	// Next continues behind this page, as [Selection].After; empty: there is no
	// more.
	Next string
}

// Bulk does what Hold, Release, Retry or Cancel does to each of the rows that sel
// finds in scope, one page of them in one transaction and few statements. A row
// that is refused does not stop the others; its answer says why. Each change is
// audited as a single one is. A dry run answers the same and writes nothing.
//
// An error means that nothing of the call was written. It is safe to repeat:
// what was done is refused the second time.
//
//spec:a-112
func (s Support) Bulk(ctx context.Context, scope Scope, action Action, sel Selection, by By, opts *ActionOptions) (BulkReport, error) {
	q, err := sel.query()
	switch {
	case err != nil:
		return BulkReport{}, fmt.Errorf("automation: Bulk: Selection: %w", err)
	case supportActions[action] == nil:
		return BulkReport{}, fmt.Errorf("automation: Bulk: %.40q is not Hold, Release, Retry or Cancel", string(action))
	}
	if err := by.Check(); err != nil {
		return BulkReport{}, fmt.Errorf("automation: Bulk: %w", err)
	}
	report := BulkReport{DryRun: audit.IsDry(opts)}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := schedules.Find(ctx, tx, scope, q)
		if err != nil {
			return err
		}
		report.Next = ""
		if len(rows) == q.Limit {
			report.Next = strconv.FormatInt(rows[len(rows)-1].ID, 36)
		}
		report.Rows, err = s.actOn(ctx, tx, rows, acting{action, by, report.DryRun})
		return err
	})
	if err != nil {
		return BulkReport{}, fmt.Errorf("automation: Bulk %s: %w", action, err)
	}
	for _, row := range report.Rows {
		if row.Refused != "" {
			report.Refused++
		}
	}
	report.Changed = len(report.Rows) - report.Refused
	return report, nil
}

// Pause says that the due work of an Extent is not begun at present.
type Pause struct {
	Extent
	By    By        // who paused it, and why
	Since time.Time // UTC
	Until time.Time // UTC, when it ends by itself; zero: when somebody resumes it
}

// pauses has one row for each Extent that was ever paused.
var pauses = driver.Define[pause.Row]("automation_pause").Grows(driver.Bounded).Limit(maxRow)

// Pause keeps the due work of e from being begun, in every process from its next
// poll on, until it is resumed or until has come; a zero until is never. Rows are
// made, moved and ended as before, and those that fall due wait: what they find
// when the pause is over is up to their type's [Lateness]. What a worker has
// already is finished, and what was handed to delivery goes out. Several pauses
// may cover a row; it runs when none does.
//
// A pause that exists gets the new end, or is refused ([ErrActionRefused]) if
// that is the one it has. It is audited in the same transaction, as Resume is.
//
//spec:a-113
func (s Support) Pause(ctx context.Context, e Extent, until time.Time, by By) error {
	if until = driver.Time(until); !until.IsZero() && !until.After(s.now()) {
		return fmt.Errorf("automation: Pause: until %s has passed", stampText(until))
	}
	return s.changePause(ctx, e, by, func(tx storage.Tx) error { return pause.Begin(ctx, tx, pauses, e.row(), until, by) })
}

// Resume ends the pause of exactly this extent. The error wraps
// [ErrActionRefused] if there is none.
//
//spec:a-113
func (s Support) Resume(ctx context.Context, e Extent, by By) error {
	return s.changePause(ctx, e, by, func(tx storage.Tx) error { return pause.End(ctx, tx, pauses, e.row(), by) })
}

func (s Support) changePause(ctx context.Context, e Extent, by By, change func(storage.Tx) error) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := by.Check(); err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	if err := s.inTx(ctx, change); err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	return nil
}

// Pauses lists the pauses that hold in a scope now, those everywhere first.
func (s Support) Pauses(ctx context.Context, scope Scope) ([]Pause, error) {
	var out []Pause
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		out, err = pausesOf(ctx, tx, scope)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Pauses: %w", err)
	}
	return out, nil
}

// pausesOf reads what Pauses lists.
func pausesOf(ctx context.Context, tx storage.Tx, scope Scope) ([]Pause, error) {
	everywhere, err := pause.InForce(ctx, tx, pauses, "", driver.Eq("everywhere", true))
	if err != nil {
		return nil, err
	}
	here, err := pause.InForce(ctx, tx, pauses, scope, driver.Eq("everywhere", false))
	var out []Pause
	for _, p := range slices.Concat(everywhere, here) {
		out = append(out, Pause{Extent: extentOf(p), By: p.By(), Since: p.PausedOn, Until: p.PausedUntil})
	}
	return out, err
}

// paused tells the due pass what to leave alone, in all scopes.
func (s worker) paused(ctx context.Context, tx storage.Tx) (work.Except, error) {
	var e work.Except
	rows, err := pause.InForceEverywhere(ctx, tx, pauses)
	for _, p := range rows {
		switch {
		case p.Everywhere && p.PausedType == "":
			e.All = true
		case p.Everywhere:
			e.Types = append(e.Types, p.PausedType)
		case p.PausedType == "":
			e.Scopes = append(e.Scopes, p.Scope)
		default:
			e.Scoped = append(e.Scoped, driver.ScopedKind{Scope: p.Scope, Kind: p.PausedType})
		}
	}
	return e, err
}
