package storage

import "time"

// Claim asks for rows that are due. It takes rows with DueOn at or before Now,
// of one of Types, that are free (no lease, and a claimable status) or whose
// lease has expired, whatever their status. Each gets Version+1, the lease, the
// token and the busy status; Abandoned says that an expired lease was taken over.
type Claim struct {
	// Statuses are the claimable ones.
	Statuses []string
	// Busy is the status that a claimed row gets; empty leaves the status alone.
	Busy string
	// Types are the registered names served here; nil means all of them.
	Types []string
	// Lanes says where to look, and how much to take from each.
	Lanes []LaneClaim
	// Except leaves out the rows of these scopes, and ExceptTypes the rows of one
	// Type in one scope (paused ones).
	Except      []Scope
	ExceptTypes []ScopedType
	// ExceptKinds leaves out rows by another name than their Type.
	ExceptKinds Kinds
	// Now is the moment of the claim; LeaseUntil is when its lease expires.
	Now, LeaseUntil time.Time
	// Token is fresh for every claim; see Record.ClaimToken.
	Token string
}

// ScopedType is a registered name in one scope.
type ScopedType struct {
	Scope Scope
	Type  string
}

// Kinds are names in a text column of a table's own, such as the type of
// notification that a message is of.
type Kinds struct {
	Column string // empty: none
	Names  []string
	Scoped []ScopedType // a name in one scope: its Type is the text in Column
}

// LaneClaim takes at most Limit rows of one lane, oldest first (ties by id),
// from behind a cursor.
type LaneClaim struct {
	Lane  int16
	After Cursor
	Limit int
}

// Cursor is a place in the due order of a lane; the zero value is its start.
type Cursor struct {
	DueOn time.Time
	ID    int64
}

// Before reports whether c comes before the place of (dueOn, id).
func (c Cursor) Before(dueOn time.Time, id int64) bool {
	if !c.DueOn.Equal(dueOn) {
		return c.DueOn.Before(dueOn)
	}
	return c.ID < id
}
