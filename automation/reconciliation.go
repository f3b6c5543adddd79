package automation

import (
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/storage"
)

// watermarkOverlap is how far a watermark stays behind the start of its run: for
// changes whose transaction was longer under way than their time of change says.
const watermarkOverlap = 15 * time.Minute

// The statuses of a reconciliation.
const (
	reconcileReady = "Ready" // waits for its next run or page, or a worker has it
	reconcileOff   = "Off"   // its scope is not allowed any more
)

// reconciliation is a row of automation_reconciliation: how far the scan of a
// reminder type has come in a scope. Its Key and Type are the reminder type's
// name. One claim of it is one page, so that its lease lets one runner at a time
// read.
type reconciliation struct {
	storage.Record
	// Watermark and CoveredUntil say what completed runs have seen: changes before
	// the one, due days up to the other.
	Watermark    time.Time `db:"watermark"`
	CoveredUntil string    `db:"covered_until"` // 2006-01-02; empty before the first
	// Cursor is where the run under way goes on, Run its counts so far.
	Cursor string           `db:"scan_cursor"`
	Run    *ReconcileReport `db:"run_report,json,null"`  // nil between two runs
	Last   *ReconcileReport `db:"last_report,json,null"` // the last completed run
	// FailureCount counts the pages that failed since the last good one.
	FailureCount int    `db:"failure_count"`
	ReasonCode   Reason `db:"reason_code"` // of the last failure; empty after a run without one
	Diagnostics  string `db:"diagnostics"`
}

var reconciliations = storage.Define[reconciliation]("automation_reconciliation").Limit(maxRow)

// period is the time from one run to the next.
func (r *reconciliation) period(every time.Duration) time.Duration {
	return backoff.Period(string(r.Scope)+":"+r.Key, every)
}

// begin is the report of a run that starts now; a zero since looks at everything
// in the window.
func begin(now time.Time, scope Scope, t ReminderType, since time.Time, coveredUntil string) ReconcileReport {
	from := civil.DateOf(now.Add(-12*time.Hour), time.UTC) // the day begins last at UTC-12
	r := ReconcileReport{
		Scope: scope, Type: t.Name, StartedOn: now, ChangedSince: since, From: from, NewFrom: from,
		To: civil.DateOf(now.Add(14*time.Hour), time.UTC).AddDays(t.Scan.Window), // and first at UTC+14
	}
	if covered, err := civil.ParseDate(coveredUntil); err == nil && !since.IsZero() && !covered.Before(from) {
		r.NewFrom = covered.AddDays(1)
	}
	return r
}

// turn is the row's next state after a page that was committed.
func (r *reconciliation) turn(now time.Time, run ReconcileReport, p *scannedPage) {
	r.FailureCount = 0
	if run.Failed > 0 {
		r.ReasonCode, r.Diagnostics = HandlerFailed, run.Failure
	}
	if !p.done {
		r.Cursor, r.Run, r.DueOn = p.next, &run, now
		return
	}
	run.Duration = now.Sub(run.StartedOn)
	r.Cursor, r.Run, r.Last = "", nil, &run
	r.DueOn = now.Add(r.period(p.t.Scan.Every))
	if run.Failed == 0 {
		r.Watermark, r.CoveredUntil = run.StartedOn.Add(-watermarkOverlap), run.To.String()
		r.ReasonCode, r.Diagnostics = "", ""
	}
}

// fail records a page that could not be done: it is tried again after 5 minutes,
// 15 minutes and an hour; then the run is given up, and the next one begins from
// the same watermark. Nothing of this waits for a person.
func (r *reconciliation) fail(now time.Time, why Reason, diagnostics string, every time.Duration) {
	r.FailureCount++
	r.ReasonCode, r.Diagnostics = why, storable(diagnostics)
	wait, more := backoff.After(string(r.Scope)+":"+r.Key, r.FailureCount)
	if !more {
		r.Cursor, r.Run = "", nil
		wait = r.period(every)
	}
	r.DueOn = now.Add(wait)
}

// off ends the scan of a scope that is not allowed any more; what was seen stays
// known, for the case that it is allowed again.
func (r *reconciliation) off() {
	r.Status, r.DueOn, r.Cursor, r.Run = reconcileOff, time.Time{}, "", nil
}
