package cutover

import "time"

// Move is what a move of the roll-out did, or would do.
type Move struct {
	Part     Part
	From, To Stage
	DryRun   bool
	// Taken runs went to this side, Returned ones to the old scheduler. Left ones
	// stay with the old scheduler although the part has moved on, since their moment
	// has come: it must do them, or has done them and did not say so. At most 1000
	// are counted.
	Taken, Returned, Left int
	// Runs names the first 1000 of them.
	Runs []MovedRun
}

// MovedRun is a run that a move gives to a side, or leaves with the old scheduler.
type MovedRun struct {
	Key         string
	Owner       Owner // after the move
	ScheduledOn time.Time
	// Overdue says that its moment has come, so that its owner has to look for it:
	// no reminder follows.
	Overdue bool
	Left    bool // it was the old scheduler's before
}
