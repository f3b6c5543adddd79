package automation

import (
	"time"
)

// MaxDifferences is how many differences a [ReconcileReport] lists; it counts
// all of them.
const MaxDifferences = 1000

// ReconcileReport says what one run of reconciliation looked at and did. In a
// dry run the counts are what would have been done.
type ReconcileReport struct {
	Scope  Scope
	Type   string // the reminder type
	DryRun bool   `json:",omitempty"`

	// StartedOn is when the run began; the other bounds are those of its
	// [ScanRequest].
	StartedOn         time.Time
	ChangedSince      time.Time
	From, To, NewFrom Date
	Duration          time.Duration // from the start to the last page

	Pages   int
	Scanned int // sources, of which were
	// Unchanged sources had all their rows as they wanted them, Stale ones had
	// shown a newer version to an event, Failed ones could not be planned: their
	// provider failed, or one of their candidates was refused. All others were
	// repaired. After a run with Failed ones the watermark stays, so that the next
	// run looks at the same changes again.
	Unchanged, Stale, Failed int

	// Rows, by what was done about them. Conflicts counts those that were on hold
	// before, too.
	Created, Updated, Reactivated, Deactivated, Conflicts int
	// OffsetPassed candidates have no row and got none, or have one that ended:
	// their moment lies further back than the type's CatchUp.
	OffsetPassed int

	// Failure is the error of the last of the Failed sources.
	Failure string `json:",omitempty"`
	// Differences are the first MaxDifferences of a call of [Scheduler.Reconcile];
	// background runs do not keep theirs.
	Differences []Difference `json:",omitempty"`
}

// count adds one page.
func (r *ReconcileReport) count(p *scannedPage) {
	r.Pages++
	r.Scanned += len(p.sources)
	for _, x := range p.sources {
		switch {
		case x.err != nil:
			r.Failed++
			r.Failure = storable(x.err.Error())
			continue
		case x.stale:
			r.Stale++
			continue
		case !x.found.repairs():
			r.Unchanged++
		}
		r.OffsetPassed += x.found.passed
		for _, d := range x.found.differences {
			r.countRow(d.Kind)
		}
	}
}

func (r *ReconcileReport) countRow(kind DifferenceKind) {
	switch kind {
	case WouldCreate:
		r.Created++
	case WouldUpdate:
		r.Updated++
	case WouldReactivate:
		r.Reactivated++
	case WouldDeactivate:
		r.Deactivated++
	case WouldConflict:
		r.Conflicts++
	}
}

// list keeps the differences of a page while there is room.
func (r *ReconcileReport) list(p *scannedPage) {
	for _, x := range p.sources {
		if x.err == nil && !x.stale {
			room := MaxDifferences - len(r.Differences)
			r.Differences = append(r.Differences, x.found.differences[:min(room, len(x.found.differences))]...)
		}
	}
}
