package automation

import (
	"context"
	"time"
)

// EventReconcile is the Type of the event that reconciliation asks a
// [TriggerProvider] with. The provider need not list it in EventTypes. Rows that
// reconciliation wrote last name it as their EventType, without an EventID.
const EventReconcile = "belfry.reconcile"

// The bounds of a [Scan].
const (
	MaxScanWindow = 3660        // days
	MaxScanBatch  = 1000        // sources
	MinScanEvery  = time.Minute // between two runs
)

// Scan declares how reconciliation looks through the sources of a reminder type,
// to repair what a missed event left behind (Automation & Reminders, "Bounded
// reconciliation"). Every run is bounded by the allowed scopes, the due window,
// the time of change and the batch: a scan without bounds cannot be declared.
// [Scheduler.Register] panics on a Scan that misses a required field or leaves
// the bounds.
type Scan struct {
	// Read gives one page of sources; required. It gives active sources only, and
	// nothing but what the request describes. It may be called from several
	// goroutines, and again for the same page, and changes nothing.
	Read func(ctx context.Context, r ScanRequest) (ScanPage, error)
	// SourceType is the Type of all sources that Read gives; required.
	SourceType string
	// Window is how many days ahead reminders are looked after: those that fall due
	// from today to so many days later. Required, at most MaxScanWindow.
	Window int
	// Batch is how many sources one page has at most, and how many one claim
	// reads; default 200, at most MaxScanBatch.
	Batch int
	// Every is the time between two runs, at least MinScanEvery; default an hour.
	// Up to a tenth is added, which follows from scope and type, so that runs
	// spread.
	Every time.Duration
	// Scopes are the tenants that are scanned, at least one; {""} in a host that
	// has one tenant. A tenant that is taken off the list is not scanned any more.
	Scopes []Scope
	// BusinessUnits are those that are scanned; none means all of the scope. A
	// source with a candidate of another one counts as failed.
	BusinessUnits []string
}

// ScanRequest asks for one page of a scan. In SQL it reads
//
//	WHERE active AND due_date BETWEEN From AND To
//	  AND (changed_on >= ChangedSince OR due_date >= NewFrom)
//	  AND id > After ORDER BY id LIMIT Limit
//
// where due_date is the local date of any reminder of the source, and those of
// the other tenants and business units are left out. A reminder that has no day,
// such as one past a threshold, is due today.
type ScanRequest struct {
	Scope Scope
	// BusinessUnits are the Scan's; none means all of the scope.
	BusinessUnits []string
	// ChangedSince leaves out what earlier runs have seen: sources that have not
	// changed since, unless a reminder of theirs falls on NewFrom or later. Zero:
	// nothing is left out.
	ChangedSince time.Time
	// From and To are the first and the last day of the due window, both
	// included. The window is wide enough for every time zone: From is today where
	// the day is the earliest on earth, To is counted from where it is the latest.
	From, To Date
	// NewFrom is the first day of the window that no completed run has covered;
	// without one it is From.
	NewFrom Date
	// After is the Next of the page before; empty for the first page.
	After string
	// Limit is how many sources the page may have. A larger one is refused.
	Limit int
}

// ScanPage is the answer to a ScanRequest.
type ScanPage struct {
	Sources []ScannedSource
	// Next is where the next page begins, in the provider's own words: the After
	// of the next request, stored between two pages, at most MaxCursor bytes. It
	// has to differ from After, unless Done is set; then it is not looked at.
	Next string
	// Done says that this was the last page.
	Done bool
}

// MaxCursor is how many bytes [ScanPage].Next may have.
const MaxCursor = 1024

// ScannedSource is one source of a page; it becomes an [Event] of the type
// EventReconcile, for which the [TriggerProvider] is asked.
type ScannedSource struct {
	Source Source
	// Version is that of Event.Version, from the same state as Data. An older
	// version than the source has shown to events is not applied. A source without
	// versions (zero) that has to be repaired is asked for again inside the
	// transaction, then without Data, so that the provider loads it anew.
	Version int64
	// Data is handed to the TriggerProvider as Event.Data.
	Data any
}
