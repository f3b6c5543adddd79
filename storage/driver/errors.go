package driver

import (
	"errors"
	"fmt"
)

// Errors that callers branch on; adapters wrap them with what happened where.
var (
	// ErrNotFound: no row of that scope has that key.
	ErrNotFound = errors.New("storage: not found")
	// ErrStale: the row was written since it was read.
	ErrStale = errors.New("storage: stale version")
	// ErrJoined: Claim and Extend do not work inside a host's transaction, since
	// a claim must be committed before its work starts. Neither does a call with the
	// context of InHostTx's function that is not bound to its transaction.
	ErrJoined = errors.New("storage: not possible in a joined transaction")
	// ErrRetryTx: the host's transaction cannot commit any more (serialization
	// failure, deadlock, busy snapshot); the host rolls it back and repeats it.
	ErrRetryTx = errors.New("storage: repeat the transaction")
	// ErrOutcomeUnknown: the connection was lost while a COMMIT was under way;
	// the transaction may or may not have happened. Everything in Belfry is safe
	// to repeat, so the answer is to call again.
	ErrOutcomeUnknown = errors.New("storage: outcome unknown")
	// ErrUnavailable: the database could not be reached, cannot be written, or has no
	// room of connections, memory or disk; nothing was written.
	ErrUnavailable = errors.New("storage: unavailable")
	// ErrClosed: the host has closed the store, or the pool that it is on. It is an
	// [ErrUnavailable] that does not pass.
	ErrClosed = fmt.Errorf("%w: the database handle was closed", ErrUnavailable)
	// ErrBusy: a lock was not granted within the bound; nothing was written.
	ErrBusy = errors.New("storage: busy")
	// ErrSchema: the tables are not as this program needs them: migrations are missing, or
	// something was changed beside them.
	ErrSchema = errors.New("storage: not the tables of this program")
)

// StaleError lists which rows of a call of Save or Delete had been written by
// another writer. The other rows of the call were written. It is an ErrStale.
type StaleError struct {
	Table string
	Rows  []int // indices of the arguments
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("storage: %s: %d of the rows have a newer version", e.Table, len(e.Rows))
}

// Is reports that a StaleError is an [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// ValueError says which column cannot hold a value, and why. It never holds the
// value itself, which may be personal.
type ValueError struct{ Table, Column, Problem string }

func (e *ValueError) Error() string {
	return fmt.Sprintf("storage: %s.%s: %s", e.Table, e.Column, e.Problem)
}

// RowSizeError refuses a row that should have put its payload into a blob.
type RowSizeError struct {
	Table       string
	Size, Limit int
}

func (e *RowSizeError) Error() string {
	return fmt.Sprintf("storage: %s: row of %d bytes exceeds %d; keep large inputs in a blob", e.Table, e.Size, e.Limit)
}
