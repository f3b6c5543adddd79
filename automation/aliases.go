package automation

import (
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/storage"
)

// Scope is the tenant that a row belongs to; see [storage.Scope].
type Scope = storage.Scope

// Date is a civil date, without time of day or zone. The zero Date is none.
type Date = civil.Date

// ParseDate reads a date written as 2006-01-02. The error says whether the form
// is wrong or the date does not exist.
func ParseDate(s string) (Date, error) { return civil.ParseDate(s) }

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

// By says who takes a support action and why: Actor, a person or program that can be
// found again, in at most 200 bytes, and Reason, in at most 1000. Both are required.
type By = audit.By
