package driver

import "time"

// Tries counts what went wrong with a row so far. Rows that are tried again embed it
// beside [Due]; package backoff has the pauses between tries.
type Tries struct {
	RetryCount     int       `db:"retry_count"`       // failures in a row
	LeaseLossCount int       `db:"lease_loss_count"`  // of a worker that held the row
	NextRetryOn    time.Time `db:"next_retry_on"`     // zero unless a retry waits
	ReasonCode     string    `db:"reason_code,plain"` // of the last failure or the end
	EndedOn        time.Time `db:"ended_on"`          // when nothing was left to do
}

// SupportHold is in every row that a person may have to look at. A row on hold
// is never due; only an audited release makes it so again.
type SupportHold struct {
	IsOnSupportHold bool   `db:"is_on_support_hold"`
	HoldReason      string `db:"hold_reason,indexed,plain"` // a code; empty without a hold
}
