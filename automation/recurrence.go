package automation

// Recurrence says when a [Candidate] happens again and again: by a cron
// expression or by an RRULE, one of them, on the clocks of the candidate's zone.
//
// Only the next occurrence exists as a row. The one behind it is made in the
// transaction in which the row first ends or is put on hold, whatever became of
// it, so a failure never ends a series. The cadence is no part of the
// InputHash: it may change under the same series, whose row then ends as
// Superseded unless the new cadence comes to the same instant.
//
// An occurrence is a local time, and its key the instant that it comes to. Local
// times that come to one instant are one occurrence; in an hour that clocks show
// twice each local time happens once, so that an hourly cadence pauses for the
// other pass. The type's CatchUp and BusinessDay are for dates and play no part.
type Recurrence struct {
	// Cron has five fields: minute, hour, day of month, month, day of week (0 and
	// 7 are Sunday), each a star, or a list of numbers, names, ranges and steps; L
	// is the last day of a month, 15W the weekday nearest to the 15th, 5L the last
	// Friday, MON#1 the first Monday. If both days are given, either is enough,
	// unless one of them begins with a star. @yearly, @annually, @monthly,
	// @weekly, @daily and @hourly stand for what they say.
	Cron string
	// RRule is the value of an RRULE (RFC 5545) without DTSTART and TZID, at most
	// every minute, with a COUNT of at most 10000. UNTIL is local; a date without
	// a time is that whole day. Days come from Start where it names none, the time
	// from the candidate's SendAt.
	RRule string

	// Start is the first local day on which it may happen, and with RRule the day
	// that intervals and COUNT are counted from; it is required there.
	Start Date
	// End is the last local day; zero: none.
	End Date
}
