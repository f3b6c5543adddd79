// Package threshold has the conditions of reminders that are due when a measured value
// crosses a line, such as a course that is nearly full.
package threshold

import "github.com/belfry-go/belfry/keys"

// Threshold is the condition of a reminder that is due when a measured value
// crosses a line, rather than at a date (Automation & Reminders, "Two trigger
// types"). An automation.TriggerProvider only measures: it gives a candidate with the
// Reading of now whether it meets the Value or not, and the scheduler compares.
// Met, the candidate asks for a row that is due at once; not met, open rows that
// stand for it end with ThresholdNoLongerMet.
//
// A provider that leaves the candidate out while the condition is not met tells
// of no fall: its open rows end as Superseded, but FalseToTrue sees no new rise
// later. In the same way, a fall and a rise that no event told of are one state.
type Threshold struct {
	// Metric is the name of what is measured, such as "occupancy". It is required
	// and stands in the key.
	Metric string
	// Comparison is what Reading has to be, beside Value; default AtLeast. Where
	// the key holds the Value, another comparison under the same key is a conflict,
	// like any other input; another TriggerKey makes another row.
	Comparison Comparison
	// Value is the threshold as a decimal number, in any spelling that
	// keys.Decimal takes: "0.90" and ".9" are one threshold. It is required.
	Value string
	// Reading is what the provider measured, a decimal number as Value. It is
	// required of candidates.
	Reading string
	// Policy says how often a condition that is met fires; default
	// OncePerThreshold, which sends nothing twice about the same line.
	Policy FiringPolicy
	// Scope is what of the source was measured, where there are several such
	// things, such as a room of a building; default "source", all of it. It may not
	// hold ':', '@' or a control character. OncePerSource does not look at it.
	Scope string
}

// FiringPolicy says how often a condition that is met fires. It is part of the
// key, so another policy makes other rows.
type FiringPolicy = keys.FiringPolicy

// The firing policies. A row that ended before it was delivered, since the
// condition was no longer met, is Pending again when the same firing is asked
// for again; one that is Completed stays so.
const (
	// OncePerSource fires once for the source, setting, trigger key and metric,
	// whatever Value and Scope. Several thresholds of it are one row, which is
	// wanted while any of them is met.
	OncePerSource = keys.OncePerSource
	// OncePerThreshold fires once for each Value in each Scope.
	OncePerThreshold = keys.OncePerThreshold
	// OncePerDay fires once for each Value and Scope on each day on which an event
	// finds the condition met. The day is the local one in the candidate's zone, or
	// the business unit's, or the type's. Nothing fires by itself at midnight. A row
	// of the day before that is still open stays so while the condition is met.
	OncePerDay = keys.OncePerDay
	// FalseToTrue fires for each Value and Scope each time the condition rises from
	// not met to met, the first reading included. The rises are counted when an
	// event's Version is newer than the last one that was measured, so it has to
	// grow with whatever changes the reading. Sources without versions are read in
	// the order of their events, so there every change counts.
	FalseToTrue = keys.FalseToTrue
)

// Comparison says how a reading is compared with the value of a [Threshold].
// Empty means AtLeast.
type Comparison string

// The comparisons. They are exact: decimals are never rounded.
const (
	AtLeast  Comparison = "AtLeast"  // the reading is the value or more
	MoreThan Comparison = "MoreThan" // the reading is more than the value
	AtMost   Comparison = "AtMost"   // the reading is the value or less
	LessThan Comparison = "LessThan" // the reading is less than the value
)
