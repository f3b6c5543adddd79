package cutover

import (
	"encoding/json"
	"time"
)

// OldRun is a run as the old scheduler knows it.
type OldRun struct {
	// Key is the SchedulerKey that the run has here; see package keys.
	Key string
	// Type is the reminder type, or the type of report, that serves the run here, for
	// runs that only the old scheduler knows. Empty: what the key says, and of a
	// reminder its setting.
	Type string
	// Coordinates say where the old scheduler keeps the delivery, as JSON of at most
	// 4 KiB; empty: nothing is said.
	Coordinates json.RawMessage
	// RanOn is when it delivered the run; zero: now.
	RanOn time.Time
}

// OldAnswer is what the guard says to the old scheduler about one run.
type OldAnswer struct {
	// Granted says that the run is the old scheduler's to deliver; it must not otherwise.
	Granted bool
	Ownership
}
