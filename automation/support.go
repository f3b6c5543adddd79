package automation

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/reasons"
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
func (s Support) Hold(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionHold, by)
}

// Release ends a hold. A row that is Failed or Cancelled becomes Pending with
// its tries counted from zero, any other stays what it is.
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

// forgottenRow is why nothing is done with a stub.
const forgottenRow = "it was forgotten"

// supportActions change a row as support wants it, or return why they refuse.
var supportActions = map[Action]func(r *scheduleRow, now time.Time, by By) (refused string){
	ActionHold:    holdBySupport,
	ActionRelease: releaseBySupport,
	ActionRetry:   retryBySupport,
	ActionCancel:  cancelBySupport,
}

func holdBySupport(r *scheduleRow, now time.Time, by By) string {
	switch {
	case r.Status == StatusCompleted:
		return "it is Completed"
	case r.IsOnSupportHold:
		return "it is on hold already"
	case r.Status == StatusProcessing:
		r.giveBack(now)
	}
	r.hold(reasons.HeldBySupport, by.Reason)
	return ""
}

func releaseBySupport(r *scheduleRow, now time.Time, _ By) string {
	if !r.IsOnSupportHold {
		return "it is not on hold"
	}
	r.unhold(now)
	return ""
}

func retryBySupport(r *scheduleRow, now time.Time, _ By) string {
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

func cancelBySupport(r *scheduleRow, now time.Time, by By) string {
	if r.Status == StatusCompleted || r.Status == StatusCancelled {
		return "it is " + r.Status
	}
	r.to(now, StatusCancelled)
	r.ReasonCode = reasons.CancelledBySupport
	r.IsOnSupportHold = false
	r.hold(reasons.CancelledBySupport, by.Reason)
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

// Rerun does Completed work once more: a real second delivery, which no Ensure
// makes (Automation & Reminders, "Ensure semantics": a support-retry key). It
// makes a row that is due now and stands for the same, under the same key but
// for the trigger key, which goes on with "~1"; that of a rerun of "~1" with
// "~2". No event supersedes it. It is validated when it is due: it runs if the
// source still asks for the row that was run first, and ends if the source or its
// setting is gone.
//
// Each row has one rerun, so a second click and a repeated call change nothing:
// they answer storage.Unchanged and what became of the first (Created says that
// this call made it). To send yet again, name the key of the last rerun. It is
// audited on both rows. The error wraps [ErrActionRefused] unless the row is
// Completed, and storage.ErrNotFound where scope has no such key.
func (s Support) Rerun(ctx context.Context, scope Scope, key string, by By) (out Ensured, err error) {
	if err := by.Check(); err != nil {
		return Ensured{}, fmt.Errorf("automation: %w", err)
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		row, err := schedules.Get(ctx, tx, scope, key)
		if err != nil {
			return err
		}
		next, refused := row.rerun(s.now())
		if refused != "" {
			return fmt.Errorf("%w: %s", ErrActionRefused, refused)
		}
		out, err = s.ensureRerun(ctx, tx, row, next, by)
		return err
	})
	if err != nil {
		return Ensured{}, fmt.Errorf("automation: Rerun of %s: %w", key, err)
	}
	return out, nil
}

// ensureRerun makes next unless it exists, and writes into the history of both.
func (s Support) ensureRerun(ctx context.Context, tx storage.Tx, row, next *scheduleRow, by By) (Ensured, error) {
	got, err := schedules.Ensure(ctx, tx, func(*scheduleRow, *scheduleRow) (storage.Outcome, bool) { return storage.Unchanged, false }, next)
	if err != nil {
		return Ensured{}, err
	}
	made := got[0].Row
	if got[0].Outcome != storage.Created {
		return answer(got[0].Outcome, made, next), nil
	}
	if err := schedules.Save(ctx, tx, row); err != nil { // its new version is what the audit tells of
		return Ensured{}, err
	}
	err = tell(ctx, tx, person(by), []note{{row, row.past(), ActionRerun, by.Reason}})
	if err != nil {
		return Ensured{}, err
	}
	first := note{made, past{by: person(by)}, actionCreated, by.Reason}.entry(person(by), made.CreatedOn)
	return answer(storage.Created, made, next), audit.Write(ctx, tx, first)
}

// rerun is the row of the next run, or why there is none.
func (r *scheduleRow) rerun(now time.Time) (next *scheduleRow, refused string) {
	if r.AutomationType == TypeReportSubscription {
		return nil, "a report is built once more by another run of it"
	}
	if r.IsTombstone() {
		return nil, forgottenRow
	}
	if r.Status != StatusCompleted {
		return nil, "it is " + r.Status + "; what is not Completed is retried"
	}
	base, n := baseTriggerKey(r.TriggerKey)
	triggerKey := base + rerunMark + strconv.Itoa(n+1)
	key, err := keyWith(r.Key, r.TriggerKey, triggerKey)
	if err != nil {
		return nil, err.Error()
	}
	again := *r
	again.Due = driver.Due{Record: storage.Record{Scope: r.Scope, Key: key, Kind: r.Kind, Status: StatusPending}, Lane: r.Lane, DueOn: now}
	again.TriggerKey = triggerKey
	again.CreatedOn, again.ScheduledOn = now, now
	again.Tries, again.SupportHold = driver.Tries{}, driver.SupportHold{}
	again.HoldDetail, again.EndedBecause, again.Diagnostics, again.DispatchResult, again.TraceBlobName = "", "", "", nil, ""
	again.EventType, again.EventID = "", ""
	again.relocate()
	return &again, ""
}

// relocate derives the local date from the moment, where the row has one.
func (r *scheduleRow) relocate() {
	loc, err := civil.LoadZone(r.TimeZone)
	switch {
	case err != nil:
	case r.TriggerType == DateBased:
		r.LocalDate = r.ScheduledOn.In(loc).Format(time.DateOnly)
	case r.TriggerType == InstantBased:
		r.showAt(loc)
	}
}

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
// answers in their order. A row that was written since it was read (a claim
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
		saved, stale, err := s.saveAndTell(ctx, tx, person(a.by), notes)
		if err == nil {
			err = s.recurrer().followActed(ctx, tx, saved)
		}
		if err != nil {
			return nil, err
		}
		for _, n := range stale {
			out[places[n.row.ID]].Refused = keepsChanging
		}
		if rows, err = again(ctx, tx, stale); err != nil {
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
		refused := forgottenRow
		if !row.IsTombstone() {
			refused = change(row, now, a.by)
		}
		*answer(row) = Acted{Key: row.Key, From: was.status, To: row.Status, Refused: refused}
		if refused == "" {
			notes = append(notes, note{row, was, a.action, a.by.Reason})
		}
	}
	return notes
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

// hold keeps the row from being due until a person releases it. The first
// reason stands.
func (r *scheduleRow) hold(why Reason, detail string) bool {
	if r.IsOnSupportHold {
		return false
	}
	r.SupportHold = driver.SupportHold{IsOnSupportHold: true, HoldReason: why}
	r.HoldDetail = storable(detail)
	r.DueOn = time.Time{}
	return true
}

// unhold ends a hold; what was given up under it starts afresh.
func (r *scheduleRow) unhold(now time.Time) {
	r.SupportHold, r.HoldDetail = driver.SupportHold{}, ""
	if r.Status == StatusFailed || r.Status == StatusCancelled {
		r.RetryCount = 0
		r.reactivate(now)
	}
	r.dropExpiredLease(now)
	r.DueOn = r.dueOn()
}
