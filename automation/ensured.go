package automation

import (
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// EnsureOutcome is what an Ensure did for one candidate: storage.Created,
// storage.Updated, storage.Reactivated, storage.Unchanged, storage.InFlight,
// storage.Conflict, or one of those below.
type EnsureOutcome = storage.Outcome

// The outcomes in which there is no row, and none was made.
const (
	// OffsetPassed: its moment lies further back than the type's CatchUp.
	OffsetPassed EnsureOutcome = "OffsetPassed"
	// TimeSkipped: its local time does not exist, and the policy is GapSkip.
	TimeSkipped EnsureOutcome = "TimeSkipped"
	// SeriesEnded: the cadence of a recurring candidate has no occurrence left.
	SeriesEnded EnsureOutcome = "SeriesEnded"
	// SettingInactive: an event's candidate of a setting that is off.
	SettingInactive EnsureOutcome = "SettingInactive"
	// ThresholdNotMet: its reading does not meet its [Threshold]. Open rows that
	// stand for it have ended, unless another candidate of the call still meets it.
	ThresholdNotMet EnsureOutcome = "ThresholdNotMet"
)

// Ensured is the answer for one candidate.
type Ensured struct {
	Outcome EnsureOutcome
	Scope   Scope
	Key     string
	// Status, ScheduledOn and the hold are the stored row's; without a row they
	// are empty, but for ScheduledOn, which is the one that was asked for.
	Status          string
	ScheduledOn     time.Time
	IsOnSupportHold bool
	HoldReason      Reason
	// Result has the coordinates of what was dispatched for the row.
	Result notify.DispatchResult
	// InputDiffers says that the row is Completed and was so for another input,
	// which is reported and changes nothing.
	InputDiffers bool
	// Conflict is set if and only if Outcome is storage.Conflict.
	Conflict *notify.ConflictError
}

// artifactSchedule is the kind of artifact that a Schedule is.
const artifactSchedule notify.Artifact = "AutomationScheduler"

// answer describes the stored row; want is what was asked for.
func answer(outcome EnsureOutcome, row, want *Schedule) Ensured {
	dispatched, _ := row.Dispatched() // undecodable: nothing to tell
	e := Ensured{
		Outcome: outcome, Scope: row.Scope, Key: row.Key, Status: row.Status, ScheduledOn: row.ScheduledOn,
		IsOnSupportHold: row.IsOnSupportHold, HoldReason: row.HoldReason, Result: dispatched,
		InputDiffers: row.Status == StatusCompleted && row.InputHash != want.InputHash,
	}
	if outcome == storage.Conflict {
		e.Conflict = &notify.ConflictError{
			Artifact: artifactSchedule, Scope: row.Scope, Coordinates: notify.Coordinates{RowKey: row.Key},
			Field: "InputHash", Stored: row.InputHash, Wanted: want.InputHash,
		}
	}
	return e
}
