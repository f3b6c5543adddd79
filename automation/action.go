package automation

// Action is what was done to a row, as its history tells it.
type Action string

// What support does; the first four can be done in bulk.
const (
	ActionHold    Action = "Hold"
	ActionRelease Action = "Release"
	ActionRetry   Action = "Retry"
	ActionCancel  Action = "Cancel"
	ActionRerun   Action = "Rerun"
)

// What programs do.
const (
	ActionCreated     Action = "Created"
	ActionCompleted   Action = "Completed"   // delivery work is queued
	ActionUpdated     Action = "Updated"     // it was asked for again, at another moment or for another type
	ActionReactivated Action = "Reactivated" // it was asked for again after it had ended
	ActionDeactivated Action = "Deactivated" // no longer wanted, by an event or at its moment
	ActionHeld        Action = "Held"        // on hold for a conflict
	ActionTryFailed   Action = "TryFailed"   // the last one puts the row on hold
	ActionLeaseLost   Action = "LeaseLost"   // a worker died or stalled, which counts as a try
)
