package automation

import "time"

// Lateness says what becomes of a row that is claimed long after its moment,
// because no process ran. The zero value runs it however late.
type Lateness struct {
	// Window is how late a row may be; a later one ends as Deactivated, TooLate.
	// Zero means that there is no limit.
	Window time.Duration
}

// tooLate reports whether a row of that moment is not worth its work any more.
func (l Lateness) tooLate(now, scheduledOn time.Time) bool {
	return l.Window > 0 && now.Sub(scheduledOn) > l.Window
}
