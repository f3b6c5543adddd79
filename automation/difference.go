package automation

import (
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// DifferenceKind says what a reconciliation does about a [Difference], or would
// do in a dry run.
type DifferenceKind string

// The kinds of difference.
const (
	WouldCreate     DifferenceKind = "WouldCreate"     // a wanted row is missing
	WouldUpdate     DifferenceKind = "WouldUpdate"     // its moment or type is not the wanted one
	WouldReactivate DifferenceKind = "WouldReactivate" // it has ended and is wanted again
	WouldDeactivate DifferenceKind = "WouldDeactivate" // nobody asks for it any more
	WouldConflict   DifferenceKind = "WouldConflict"   // it stands for another input: support hold
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

// diff compares what a source wants with its rows: those that exist under the
// wanted keys, and its open ones. It decides as HandleEvent would, but that it
// leaves alone what ended further back than CatchUp: no event asks for it again.
// The wanted rows are added to rows, for candidates that repeat a key.
func diff(now time.Time, source Source, p eventPlan, rows map[string]*Schedule, open []*Schedule) (f found) {
	add := func(kind DifferenceKind, row *Schedule, detail string, settled bool) {
		f.differences = append(f.differences, Difference{kind, row.Key, source, row.Setting, detail, settled})
	}
	ends := p.superseded()
	for _, row := range open {
		if reason, end := ends(row); end && row.mayEnd() && slices.Contains(p.spoken, row.Setting) {
			add(WouldDeactivate, row, string(reason), false)
		}
	}
	decide := decideAt(now)
	for _, plan := range p.plans {
		want := plan.want
		stored, exists := rows[want.Key]
		switch {
		case plan.skipped || plan.unmet || plan.found != nil || p.off[want.Setting]:
			continue
		case plan.ends != nil:
			add(WouldDeactivate, plan.ends, string(Superseded), false)
		}
		switch {
		case plan.ended:
			continue
		case !exists && plan.passed(now):
			f.passed++
			continue
		case !exists:
			add(WouldCreate, &want, "", false)
			rows[want.Key] = &want
			continue
		}
		row := *stored
		outcome, write := decide(&row, &want)
		switch {
		case outcome == storage.Reactivated && plan.passed(now):
			f.passed++
			continue
		case outcome == storage.Updated || outcome == storage.Unchanged && plan.moves:
			add(WouldUpdate, &row, "", false)
		case outcome == storage.Reactivated:
			add(WouldReactivate, &row, "", false)
		case outcome == storage.Conflict && write:
			add(WouldConflict, &row, "", false)
		case outcome == storage.Conflict:
			add(WouldConflict, &row, "it is on hold already", true)
		}
		rows[want.Key] = &row
	}
	return f
}
