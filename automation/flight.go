package automation

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// underWorker is the answer for a row that a worker has. What is wanted now goes into
// the row: its new version makes what the worker decides stale, so that the try counts
// for nothing and the row is given back with the new wish. The status, the lease and
// the moment at which a lost lease is noticed stay, so that a worker that dies changes
// nothing of it.
func (r *scheduleRow) underWorker(now time.Time, want *scheduleRow) (storage.Outcome, bool) {
	switch {
	case r.InputHash != want.InputHash:
		r.giveBack(now)
		return storage.Conflict, r.holdConflict(want)
	case want.inShadow() || r.sameMoment(want):
		return storage.InFlight, false
	}
	r.moveTo(want)
	return storage.InFlight, true
}

// holdConflict keeps a row whose key is wanted with another input from going out.
func (r *scheduleRow) holdConflict(want *scheduleRow) bool {
	return r.hold(InputConflict, "wanted with input "+want.InputHash+", stands for "+r.InputHash)
}
