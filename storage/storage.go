// Package storage is what a host holds of a database: the store that it opens with
// storage/sqlite, storage/postgres or storage/memory, the transactions that it joins,
// and the errors and outcomes that it branches on.
//
// Who writes an adapter, or a table that becomes due, reads package driver.
package storage

import "github.com/belfry-go/belfry/storage/driver"

// What a host holds.
type (
	// Store is a database that Belfry works on. Its methods may be called from any
	// number of goroutines and return within their context plus one second.
	Store = driver.Store
	// Tx is one transaction of a [Store], for one goroutine and until its function
	// returns. A host's own becomes one by the Join of its adapter.
	Tx = driver.Tx
	// Scope is a tenant. It is part of every key and of every read; empty is the one
	// tenant of a program that has one. It is valid UTF-8 without NUL, of at most 200
	// bytes, on every database; another one is a [*ValueError], before anything is
	// written.
	Scope = driver.Scope
	// Clock is a store's only source of time; see the Options of its adapter.
	Clock = driver.Clock
	// ScopeFilter is what a call looks at: one scope, or everywhere. See [Within] and
	// [Everywhere].
	ScopeFilter = driver.ScopeFilter
	// Page says which part of a list is wanted.
	Page = driver.Page
	// Record is what every row has.
	Record = driver.Record
	// Identity says which database this is, so that a copy is not taken for it.
	Identity = driver.Identity
	// Blobs keeps payloads that are too large for a row.
	Blobs = driver.Blobs
	// Ref names a payload in [Blobs].
	Ref = driver.Ref
	// Owned are the blobs that one row names.
	Owned = driver.Owned
)

// Within reaches what belongs to one scope.
func Within(scope Scope) ScopeFilter { return driver.Within(scope) }

// Everywhere reaches what belongs to any scope. No string of a host stands for it.
func Everywhere() ScopeFilter { return driver.Everywhere() }

// The lanes; a host may use numbers of its own.
const (
	LaneUrgent = driver.LaneUrgent
	LaneNormal = driver.LaneNormal
	LaneBulk   = driver.LaneBulk
)

// Outcome says what became of a wish.
type Outcome = driver.Outcome

// The outcomes.
const (
	Created     = driver.Created
	Updated     = driver.Updated
	Reactivated = driver.Reactivated
	Unchanged   = driver.Unchanged
	InFlight    = driver.InFlight // held by a worker, whose try counts for nothing if the row was changed
	Conflict    = driver.Conflict // the stored row stands for something else
)

// Errors that callers branch on; adapters wrap them with what happened where.
var (
	// ErrNotFound: no row of that scope has that key.
	ErrNotFound = driver.ErrNotFound
	// ErrPage: a [Page].After is none that a call returned.
	ErrPage = driver.ErrPage
	// ErrStale: the row was written since it was read.
	ErrStale = driver.ErrStale
	// ErrJoined: inside a host's transaction, Claim, Extend, and a call with the context of
	// InHostTx's function that is not bound to it (WithTx) are refused.
	ErrJoined = driver.ErrJoined
	// ErrRetryTx: the host's transaction cannot commit any more; the host rolls it
	// back and repeats it.
	ErrRetryTx = driver.ErrRetryTx
	// ErrOutcomeUnknown: the connection was lost while a COMMIT was under way. Call
	// again: everything in Belfry is safe to repeat.
	ErrOutcomeUnknown = driver.ErrOutcomeUnknown
	// ErrUnavailable: the database could not be reached, cannot be written, or has no
	// room of connections, memory or disk; nothing was written.
	ErrUnavailable = driver.ErrUnavailable
	// ErrClosed: the host has closed the store, or the pool that it is on. It is an
	// [ErrUnavailable] that does not pass.
	ErrClosed = driver.ErrClosed
	// ErrBusy: a lock was not granted within the bound; nothing was written.
	ErrBusy = driver.ErrBusy
	// ErrSchema: the tables are not as this program needs them: migrations are missing, or
	// something was changed beside them.
	ErrSchema = driver.ErrSchema
)

// Errors with data.
type (
	// StaleError lists the rows of a call that had been written meanwhile. It is an
	// [ErrStale].
	StaleError = driver.StaleError
	// ValueError says which column cannot hold a value, and why, but not the value.
	ValueError = driver.ValueError
	// RowSizeError refuses a row that should have put its payload into a blob.
	RowSizeError = driver.RowSizeError
)
