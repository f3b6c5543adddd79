// Package sqlstore holds what the SQL adapters share: every verb in SQL once,
// the transaction loop, and the migration runner. An adapter adds a dialect, its
// migrations, and what it takes to open its database safely.
package sqlstore

// Class is what a driver's error means to the transaction loop. Each dialect
// classifies the errors of its driver in one function.
type Class int

// The classes of driver errors.
const (
	Unknown       Class = iota // not recognised: reported as it is
	Unique                     // a unique constraint
	Busy                       // SQLITE_BUSY, SQLITE_LOCKED: run again
	LockTimeout                // 55P03: run again with half the batch
	Serialization              // 40001, 40P01, SQLITE_BUSY_SNAPSHOT: run again
	ReadOnly                   // a replica or a read-only file
	DiskFull
	Connection // the connection is gone: the outcome of a COMMIT is unknown
)
