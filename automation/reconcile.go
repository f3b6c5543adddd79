package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ReconcileOptions are the settings of [Maintenance.Reconcile]; nil is the zero
// value.
type ReconcileOptions struct {
	// DryRun finds the differences and writes nothing at all.
	DryRun bool
	// FromStart looks at every active source in the due window. Without it only
	// what changed since the last completed background run is looked at, or is new
	// in the window.
	FromStart bool
}

// Reconcile runs one whole reconciliation of a reminder type in one of its
// scopes here and now, page by page, and says what it did (Automation &
// Reminders, "Bounded reconciliation"). It is for operators, who look at a DryRun
// first. Settings that changed need none: see [MarkReplan].
//
// Runs in the background are a pass of the Poller; this one leaves their
// watermark, cursor and lease alone and may run beside them, since each repair
// takes the row of its source. The error is for a type without a [Scan], a scope
// that it does not allow, a bound scheduler, and for a page that failed: then
// the pages before it are done, and the report counts them.
func (s Maintenance) Reconcile(ctx context.Context, scope Scope, name string, opts *ReconcileOptions) (ReconcileReport, error) {
	var o ReconcileOptions
	if opts != nil {
		o = *opts
	}
	t, _ := s.registry.reminder(name)
	switch {
	case s.tx != nil:
		return ReconcileReport{}, errors.New("automation: Reconcile has transactions of its own, so it cannot be bound to one")
	case t.Scan == nil:
		return ReconcileReport{}, fmt.Errorf("automation: Reconcile: no reminder type %.40q with a Scan is registered here", name)
	}
	if allowed, err := t.Scan.allows(ctx, scope); err != nil || !allowed {
		return ReconcileReport{}, cmp.Or(err, fmt.Errorf("automation: Reconcile: the Scan of %s does not allow scope %.40q", name, scope))
	}
	r, err := s.keeper().beginNow(ctx, scope, t, o)
	for cursor, done := "", false; err == nil && !done; {
		var p *page
		if p, err = s.keeper().reconcilePage(ctx, t, &r, cursor); err == nil {
			r.list(p)
			cursor, done = p.next, p.done
		}
	}
	r.Duration = s.now().Sub(r.StartedOn)
	if !o.DryRun && err == nil {
		s.keeper().reconciled(ctx, r)
	}
	return r, err
}

// beginNow reads from where on a run has to look.
func (s keeper) beginNow(ctx context.Context, scope Scope, t ReminderType, o ReconcileOptions) (ReconcileReport, error) {
	var since time.Time
	var covered string
	var err error
	if !o.FromStart {
		err = s.store.View(ctx, func(from driver.Reader) error {
			row, err := reconciliations.Get(ctx, from, scope, t.Name)
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			if err == nil {
				since, covered = row.Watermark, row.CoveredUntil
			}
			return err
		})
	}
	r := begin(s.now(), scope, t, since, covered)
	r.DryRun = o.DryRun
	return r, err
}

// maxDifferences is how many differences a [ReconcileReport] lists; it counts
// all of them.
const maxDifferences = 1000

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
	// provider failed, or one of their candidates was refused. Those Elsewhere are of
	// a business unit that the Scan does not have, and stay as they are. All others were
	// repaired. The next background run begins with the Failed ones.
	Unchanged, Stale, Failed, Elsewhere int
	// Unlisted are those of the Failed ones that a background run has no room to
	// remember. After a run with such the watermark stays, so that the next one looks at
	// the same changes again.
	Unlisted int `json:",omitempty"`

	// Rows, by what was done about them. Conflicts counts those that were on hold
	// before, too.
	Created, Updated, Reactivated, Deactivated, Conflicts int
	// OffsetPassed candidates have no row and got none, or have one that ended:
	// their moment is later than the type's [Lateness] allows.
	OffsetPassed int

	// More says that [Maintenance.PreviewReplan] stopped counting, with more sources to look at.
	More bool `json:",omitempty"`

	// Failure is the error of the last of the Failed sources.
	Failure string `json:",omitempty"`
	// Differences are the first 1000 of a call of [Maintenance.Reconcile];
	// background runs do not keep theirs.
	Differences []Difference `json:",omitempty"`
}

// count adds one page.
func (r *ReconcileReport) count(p *page) {
	r.Pages++
	r.Scanned += len(p.sources)
	for _, x := range p.sources {
		switch {
		case errors.Is(x.err, errElsewhere):
			r.Elsewhere++
			continue
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
	case wouldCreate:
		r.Created++
	case wouldUpdate:
		r.Updated++
	case wouldReactivate:
		r.Reactivated++
	case wouldDeactivate:
		r.Deactivated++
	case wouldConflict:
		r.Conflicts++
	}
}

// list keeps the differences of a page while there is room.
func (r *ReconcileReport) list(p *page) {
	for _, x := range p.sources {
		if x.err == nil && !x.stale {
			room := maxDifferences - len(r.Differences)
			r.Differences = append(r.Differences, x.found.differences[:min(room, len(x.found.differences))]...)
		}
	}
}

// DifferenceKind says what a reconciliation does about a [Difference], or would do in a dry
// run: WouldCreate a row that is missing, WouldUpdate its moment or type, WouldReactivate one
// that has ended, WouldDeactivate one that its source does not ask for, or WouldConflict,
// which puts a row that stands for another input on support hold.
type DifferenceKind string

const (
	wouldCreate     DifferenceKind = "WouldCreate"
	wouldUpdate     DifferenceKind = "WouldUpdate"
	wouldReactivate DifferenceKind = "WouldReactivate"
	wouldDeactivate DifferenceKind = "WouldDeactivate"
	wouldConflict   DifferenceKind = "WouldConflict"
)

// Difference is a row that is not as its source wants it.
type Difference struct {
	Kind    DifferenceKind
	Key     string
	Source  Source
	Setting string
	// Detail is the reason of a deactivation, or says that a conflict is on hold
	// already, which writes nothing.
	Detail string

	settled bool // nothing is to be written
}

// found is what comparing one source with its rows leads to.
type found struct {
	verdicts    []verdict // one for each plan, where they are asked for
	differences []Difference
	passed      int  // wanted rows whose moment lies too far back
	moved       bool // a reading of a condition is to be recorded
}

// writes reports whether the source has to be written about at all.
func (f found) writes() bool { return f.moved || f.repairs() }

// repairs reports whether a row is to be written.
func (f found) repairs() bool {
	for _, d := range f.differences {
		if !d.settled {
			return true
		}
	}
	return false
}

// verdict says of one plan why there is a row for it, or none, and what is to be done.
type verdict struct {
	plan    *plan
	row     *scheduleRow // as it is; nil: there is none
	outcome storage.Outcome
	writes  bool
	limit   string // of OffsetPassed: what it comes too late for
}

// decide is what Ensure would answer, for a row that exists by its table. It gives the row
// as it would be.
func (v *verdict) decide(off map[string]bool, table driver.Decide[scheduleRow]) *scheduleRow {
	want := &v.plan.want
	switch {
	case off[want.Setting]:
		v.outcome = causes.SettingInactive
	case v.plan.skipped:
		v.outcome = causes.TimeSkipped
	case v.plan.unmet:
		v.outcome = causes.ThresholdNotMet
	case v.plan.found != nil:
		v.outcome, v.row = storage.Unchanged, v.plan.found
	case v.plan.ended:
		v.outcome = causes.SeriesEnded
	case v.row == nil && v.limit != "":
		v.outcome = causes.OffsetPassed
	case v.row == nil:
		row := *want
		v.outcome, v.writes = storage.Created, true
		return &row
	default:
		row := *v.row
		v.outcome, v.writes = table(&row, want)
		v.writes = v.writes || v.outcome == storage.Unchanged && v.plan.moves
		return &row
	}
	return v.row
}

// difference is what a repair does about it; false: nothing is different.
func (v *verdict) difference(source Source) (Difference, bool) {
	kind, settled := differenceOf[v.outcome], ""
	switch v.outcome {
	case storage.Unchanged, storage.InFlight:
		kind = wouldUpdate
	case storage.Conflict:
		if !v.writes {
			settled = "it is on hold already"
		}
	}
	want := &v.plan.want
	return Difference{kind, want.Key, source, want.Setting, settled, settled != ""}, v.writes || settled != ""
}

// diff compares what a source wants with its rows: those that exist under the wanted keys,
// and its open ones. It decides as HandleEvent would, for scans, re-plans, dry runs and
// explanations, which want the verdict on each plan as well. The wanted rows are added to
// rows, for candidates that repeat a key.
func diff(now time.Time, source Source, p eventPlan, rows map[string]*scheduleRow, open []*scheduleRow, explain bool) (f found) {
	end := func(row *scheduleRow, why Reason) {
		f.differences = append(f.differences, Difference{wouldDeactivate, row.Key, source, row.Setting, string(why), false})
	}
	ends := p.superseded()
	for _, row := range open {
		if reason, ended := ends(row); ended && row.mayEnd() && slices.Contains(p.spoken, row.Setting) {
			end(row, reason)
		}
	}
	late := latePlans{all: worthless(now, p.plans)}
	table := decideAt(now, late.wants(p.plans))
	for i := range p.plans {
		plan := &p.plans[i]
		v := verdict{plan: plan, row: rows[plan.want.Key], limit: late.all[i]}
		if row := v.decide(p.off, table); row != nil {
			rows[plan.want.Key] = row
		}
		if explain {
			f.verdicts = append(f.verdicts, v)
		}
		if plan.ends != nil && v.outcome != causes.SettingInactive {
			end(plan.ends, reasons.Superseded)
		}
		if v.outcome == causes.OffsetPassed {
			f.passed++
		}
		if d, differs := v.difference(source); differs {
			f.differences = append(f.differences, d)
		}
	}
	return f
}
