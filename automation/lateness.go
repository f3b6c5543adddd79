package automation

import "time"

// Lateness says what becomes of a row that is claimed long after its moment,
// because no process ran or an earlier one took long. The zero value runs each
// one however late; the occurrences of a series run one after the other, never
// two at once.
type Lateness struct {
	// Window is how late a row may be; a later one ends as Deactivated, TooLate.
	// Zero means that there is no limit. A series goes on with the first
	// occurrence that is not too late.
	Window time.Duration
	// OnlyLatest runs the last of several that are due together: the others end as
	// Deactivated, Overtaken. A series goes on with the last occurrence that is
	// due; those in between have no rows. Of date-based rows it compares the open
	// ones of one setting, source and trigger key: a later offset overtakes an
	// earlier one.
	OnlyLatest bool
	// SkipOverlapped leaves out the occurrences of a series whose moment passed
	// before the row of an earlier one ended, because it waited, ran or was tried
	// again: the series goes on with the first one that lies ahead. Where support
	// holds or cancels the row in a process that does not register the type, the
	// next occurrence is made all the same.
	SkipOverlapped bool
}

// tooLate reports whether a row of that moment is not worth its work any more.
func (l Lateness) tooLate(now, scheduledOn time.Time) bool {
	return l.Window > 0 && now.Sub(scheduledOn) > l.Window
}
