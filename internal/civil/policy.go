package civil

import (
	"errors"
	"fmt"
)

// GapPolicy says which instant a local time means that a zone's clocks jump
// over, as they do when summer time begins. Empty means ShiftForward. The
// texts are kept in databases and never change.
type GapPolicy string

const (
	// ShiftForward takes the first instant after the gap: where clocks jump from
	// 02:00 to 03:00, 02:30 becomes 03:00. It is the default.
	ShiftForward GapPolicy = "forward"
	// ShiftBack takes the last whole second before the gap: 02:30 becomes
	// 01:59:59. Where a zone left out a whole day, this is in the day before.
	ShiftBack GapPolicy = "back"
	// Skip takes no instant: Resolve returns ErrSkipped.
	Skip GapPolicy = "skip"
)

// OverlapPolicy says which instant a local time means that a zone's clocks show
// twice, as they do when summer time ends. Empty means First. The texts are
// kept in databases and never change.
type OverlapPolicy string

const (
	// First takes the earlier of the two instants. It is the default.
	First OverlapPolicy = "first"
	// Second takes the later of the two instants.
	Second OverlapPolicy = "second"
)

// Policy decides what becomes of local times that do not exist or exist twice
// (Automation & Reminders, "Two trigger types": daylight saving by product
// rule). The zero value shifts forward in gaps and takes the first in overlaps.
type Policy struct {
	Gap     GapPolicy
	Overlap OverlapPolicy
}

// Validate returns an error that names the value if the policy holds one that
// is not listed here.
func (p Policy) Validate() error {
	switch p.Gap {
	case "", ShiftForward, ShiftBack, Skip:
	default:
		return fmt.Errorf("gap policy %q is not one of forward, back, skip", p.Gap)
	}
	switch p.Overlap {
	case "", First, Second:
	default:
		return fmt.Errorf("overlap policy %q is not one of first, second", p.Overlap)
	}
	return nil
}

// Resolution says how a local time was turned into an instant. Empty means
// that it was not, because of bad input.
type Resolution string

const (
	// Exact is a local time that exists once.
	Exact Resolution = "exact"
	// ShiftedForward is a local time in a gap, moved to the gap's end.
	ShiftedForward Resolution = "shifted-forward"
	// ShiftedBack is a local time in a gap, moved to the second before it.
	ShiftedBack Resolution = "shifted-back"
	// Skipped is a local time in a gap that the policy gives no instant.
	Skipped Resolution = "skipped"
	// FirstOfTwo is the earlier instant of a local time that exists twice.
	FirstOfTwo Resolution = "first-of-two"
	// SecondOfTwo is the later instant of a local time that exists twice.
	SecondOfTwo Resolution = "second-of-two"
)

// ErrSkipped is what Resolve's error wraps when the local time does not exist
// and the policy is Skip.
var ErrSkipped = errors.New("clocks jump over this local time, and the policy is to skip it")
