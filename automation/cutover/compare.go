package cutover

import "time"

// Window is a time that automation.Rollout.Compare looks at: moments from From on and before
// Until. Until may be zero or lie ahead; it is now at most, since what is still to come proves
// nothing.
type Window struct{ From, Until time.Time }

// Difference says how a run differs between the two schedulers.
type Difference string

// The kinds of difference in a [Comparison].
const (
	// OnlyHere: this side expects the run, and the old scheduler has not reported it.
	OnlyHere Difference = "OnlyHere"
	// OnlyThere: the old scheduler did a run that this side does not expect, or not
	// any more.
	OnlyThere Difference = "OnlyThere"
	// RanLate and RanEarly: both know it; the old scheduler ran it after or before
	// the moment that it has here, by more than the tolerance.
	RanLate  Difference = "RanLate"
	RanEarly Difference = "RanEarly"
)

// Comparison compares what this side expects of a part with what the old
// scheduler did.
type Comparison struct {
	Part   Part
	Window Window
	// Both are known to both sides, Late and Early ones among them.
	Both, Late, Early, OnlyHere, OnlyThere int
	// Runs names the first 1000 that differ, by kind and key.
	Runs []ComparedRun
	// Capped says that there are more runs than are looked at: 100,000, and of a
	// series 10,000. Compare a shorter window.
	Capped bool
}

// ComparedRun is a run that differs.
type ComparedRun struct {
	Kind        Difference
	Key         string
	ScheduledOn time.Time // here; zero: it is not expected
	OldRanOn    time.Time // there; zero: it was not reported
}

// Same reports whether the two sides agree about every run.
func (c Comparison) Same() bool {
	return !c.Capped && c.Late+c.Early+c.OnlyHere+c.OnlyThere == 0
}

// OldReport is what automation.Rollout.ReportOldRun found.
type OldReport struct {
	// Recorded runs were news, Known ones were reported or delivered under the guard
	// before.
	Recorded, Known int
	// Trespassed names runs that were this side's and not delivered yet. They count
	// as delivered by the old scheduler from now on; where this side wanted them,
	// their rows go on hold when they are due.
	Trespassed []string
	// Doubled names runs that this side had delivered already: people heard twice.
	Doubled []string
}
