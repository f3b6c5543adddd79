package survey

import "time"

// advance says what follows a send (Triggers & Scheduler, "What advance NextSendAt
// actually does"): when the next one is due, and how many reminders are left to be
// scheduled after it; the zero time if that was the last one.
func advance(reminders []Duration, remaining int, sentOn time.Time) (next time.Time, left int) {
	index := len(reminders) - remaining
	if index < 0 || index >= len(reminders) {
		return time.Time{}, 0
	}
	return sentOn.Add(time.Duration(reminders[index])), remaining - 1
}
