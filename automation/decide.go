package automation

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// decideAt is the table of [Scheduler.Ensure] for a row that exists.
func decideAt(now time.Time) storage.Decide[Schedule] {
	return func(stored, want *Schedule) (storage.Outcome, bool) {
		// What support has stopped, and what was given up, waits for its release.
		stopped := stored.IsOnSupportHold && (stored.Status == StatusFailed || stored.Status == StatusCancelled)
		switch {
		case stored.Status == StatusProcessing:
			return storage.InFlight, false
		case stored.Status == StatusCompleted:
			return storage.Unchanged, false
		case stored.InputHash != want.InputHash:
			return storage.Conflict, stored.hold(InputConflict, "wanted with input "+want.InputHash+", stands for "+stored.InputHash)
		case want.inShadow():
			return decideShadow(now, stored, want)
		case stored.sameMoment(want) && (stored.Status == StatusPending || stopped):
			return storage.Unchanged, false
		}
		stored.moveTo(want)
		switch {
		case stopped:
			return storage.Updated, true
		case stored.Status == StatusPending:
			stored.reactivate(now)
			return storage.Updated, true
		}
		stored.reactivate(now)
		return storage.Reactivated, true
	}
}

// sameMoment reports whether nothing that may change under the same key differs.
func (r *Schedule) sameMoment(want *Schedule) bool {
	if want.TriggerType == ManualRun { // its moment is when it was first asked for
		return r.Type == want.Type
	}
	// A condition's moment is when it was first met.
	return (r.ScheduledOn.Equal(want.ScheduledOn) || r.TriggerType == ThresholdCondition) && r.LocalDate == want.LocalDate && r.SendAt == want.SendAt &&
		r.TimeZone == want.TimeZone && r.GapPolicy == want.GapPolicy && r.OverlapPolicy == want.OverlapPolicy && r.Type == want.Type
}

// moveTo takes over what may change under the same key, and who asked for it.
func (r *Schedule) moveTo(want *Schedule) {
	r.ScheduledOn, r.LocalDate, r.SendAt = want.ScheduledOn, want.LocalDate, want.SendAt
	r.TimeZone, r.GapPolicy, r.OverlapPolicy, r.Type = want.TimeZone, want.GapPolicy, want.OverlapPolicy, want.Type
	r.EventType, r.EventID = want.EventType, want.EventID
}
