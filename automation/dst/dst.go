// Package dst says what becomes of a local time that a change of the clocks skips or repeats,
// such as 02:30 on the last Sunday of March. Hosts for which the first instant that exists is
// right, and the first of two, do not need it.
package dst

import "github.com/belfry-go/belfry/internal/civil"

// GapPolicy says what becomes of a local time that the clocks of a zone jump
// over. Empty means GapForward (Automation & Reminders, "Two trigger types").
type GapPolicy = civil.GapPolicy

// The gap policies, for 02:30 where clocks jump from 02:00 to 03:00.
const (
	GapForward = civil.ShiftForward // 03:00, the first instant behind the gap
	GapBack    = civil.ShiftBack    // 01:59:59, the last second before it
	GapSkip    = civil.Skip         // no row is made
)

// OverlapPolicy says which instant is meant by a local time that the clocks of
// a zone show twice. Empty means OverlapFirst.
type OverlapPolicy = civil.OverlapPolicy

// The overlap policies.
const (
	OverlapFirst  = civil.First
	OverlapSecond = civil.Second
)

// Resolution says how a local time became an instant.
type Resolution = civil.Resolution

// The resolutions: a local time exists once, was in a gap of the zone's clocks
// and moved, or existed twice.
const (
	ResolvedExact   = civil.Exact
	ResolvedForward = civil.ShiftedForward // to the end of the gap
	ResolvedBack    = civil.ShiftedBack    // to the second before the gap
	ResolvedFirst   = civil.FirstOfTwo
	ResolvedSecond  = civil.SecondOfTwo
)
